// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/status.h"
#include "runtime/executor/gradient_run.h"
#include "runtime/session/declarations.h"

namespace casync::runtime {

/// The numbers from here on are of a gradient's runs for gossip (key_of).
inline constexpr std::uint64_t kFirstGossipPart = 1u << 17;

/// The key of a part of a gradient in messages: the gradient itself is part 0, then its warm-up, then each of its
/// rounds; the stages of a warm-up begin far above them, and its neighbourhoods above those.
std::uint64_t key_of(const std::string& name, std::uint64_t part);

/// The exchange of round `round`, of so many elements, as a gradient of float32 by itself, by the decision's strategy.
/// Its partitions are as large as those of `declared` would be. Its result is a sum times the session's scale, the
/// greatest, or a sum that is not scaled yet (compll::ExchangeKind).
Result<std::unique_ptr<GradientRun>> make_exchange(const Declared& declared, std::size_t round,
                                                   compll::ExchangeKind kind, Elements elements,
                                                   const Topology& topology, Rank self, std::size_t first_owner);

/// `decision` for `gradient`, where its codec works in rounds: none of it where the codec needs a matrix and the
/// gradient is none, or where the exchanges would have half of its bits or more. PlanError: a codec of rounds together
/// with another one. InvalidArgument: a codec that is made for exchanges.
Result<Decision> with_rounds_where_they_pay(Decision decision, const GradientSpec& gradient);

/// make_run() for a codec of rounds.
Result<std::unique_ptr<GradientRun>> make_rounds_run(const Declared& declared, const Topology& topology, Rank self,
                                                     std::size_t first_owner);

/// Gives `run` what it does in its warm-up steps, if it has some and they differ. PlanError: the strategy cannot carry
/// them.
Status add_warm_up(const Declared& declared, const Topology& topology, std::size_t first_owner, GradientRun& run);

/// InvalidArgument: so many ranks cannot average in pairs. Their pairings are prepared, and take memory.
Status check_gossip(const SyncMode& mode, int ranks);
/// PlanError: parameters cannot be averaged with neighbours by this decision.
Status check_gossip(const Declared& declared);
/// Returns true if both hops carry the gradient's elements as they are.
bool is_exact(const Declared& declared);
/// Gives `run` the runs that average with `neighbours` only: of a ring one, of pairs one for each round of the
/// tournament. Not for kAll.
Status add_gossip(const Declared& declared, Neighbours neighbours, const Topology& topology, GradientRun& run);

}  // namespace casync::runtime
