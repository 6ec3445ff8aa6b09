// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/status.h"
#include "runtime/executor/gradient_run.h"
#include "runtime/session/declarations.h"

namespace casync::runtime {

/// `decision` for `gradient`, where its codec works in rounds: none of it where the gradient is no matrix or where the
/// exchanges would have half of its elements or more. PlanError: a codec of rounds together with another one.
Result<Decision> with_rounds_where_they_pay(Decision decision, const GradientSpec& gradient);

/// make_run() for a codec of rounds.
Result<std::unique_ptr<GradientRun>> make_rounds_run(const Declared& declared, const Topology& topology, Rank self,
                                                     std::size_t first_owner);

/// Gives `run` what it does in its warm-up steps, if it has some and they differ. PlanError: the strategy cannot carry
/// them.
Status add_warm_up(const Declared& declared, const Topology& topology, std::size_t first_owner, GradientRun& run);

/// InvalidArgument: so many ranks cannot average in pairs. Their pairings are prepared, and take memory.
Status check_gossip(const SyncMode& mode, int ranks);
/// PlanError: the decision has a codec that loses something, which would stay in the parameters.
Status check_gossip(const Declared& declared);
/// Gives `run` the runs that average with `neighbours` only: of a ring one, of pairs one for each round of the
/// tournament. Not for kAll.
Status add_gossip(const Declared& declared, Neighbours neighbours, const Topology& topology, GradientRun& run);

}  // namespace casync::runtime
