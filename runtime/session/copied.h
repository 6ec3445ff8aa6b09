// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "base/status.h"
#include "casync/model/topology.h"
#include "runtime/session/declarations.h"
#include "runtime/session/session.h"

namespace casync::runtime {

/// InvalidArgument: a plan beside op `copy`. Unimplemented: memory of a device.
Status check_copies(const SessionOptions& options, const Plan& plan, const Device& device);
/// InvalidArgument: sessions of another op copy nothing.
Status copies_nothing(const GradientSpec& gradient);

/// Decides for memory that is copied: from `root`, or each rank's shard from itself. InvalidArgument: a type other than
/// float32, no such root, elements that are no equal shards.
Result<Declared> declare_copied(const GradientSpec& gradient, std::optional<Rank> root, const Topology& topology);

/// The run of one that declare_copied() has made, on rank `self`.
Result<std::unique_ptr<GradientRun>> make_copied_run(const Declared& declared, const Topology& topology, Rank self);

}  // namespace casync::runtime
