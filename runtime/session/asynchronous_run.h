// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/status.h"
#include "runtime/executor/gradient_run.h"
#include "runtime/session/declarations.h"

namespace casync::runtime {

/// InvalidArgument: a plan's `asynchronous` waits for more ranks than there are.
Status check_asynchronous(const SyncMode& mode, int ranks);

/// PlanError: owners cannot answer ranks one by one by this decision; says why, and what can be used.
Status check_asynchronous(const Declared& declared);

/// make_run() of asynchronous ranks: this rank's own step over asynchronous_graph(), the owner's side if it
/// owns partitions, and the consensus, which averages parameters uncompressed by strategy `ps` with the same owners.
Result<std::unique_ptr<GradientRun>> make_asynchronous(const Declared& declared, const Topology& topology, Rank self,
                                                       std::size_t first_owner);

}  // namespace casync::runtime
