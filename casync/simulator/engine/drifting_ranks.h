// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "base/units.h"
#include "casync/simulator/late_exchanges.h"
#include "casync/simulator/rank_steps.h"

namespace casync {
struct Simulation;
}

namespace casync::engine {

struct Engine;

/// Ranks that do not step together: results that come several steps late, owners that answer each rank by itself, and
/// neighbours, of which one may be a step ahead. Does nothing for other ranks.
class DriftingRanks {
 public:
  explicit DriftingRanks(Engine& engine);

  // The training of a rank.
  /// It submits its next gradient. Returns true if results come several steps late: then it has begun, or waits.
  bool submit_late(Rank rank);
  /// All of its gradients are there.
  void contribute(Rank rank);
  /// None: results do not come several steps late. Else true if `step` may end.
  std::optional<bool> may_end_late(Rank rank, int step) const;
  /// It ends a step. None: ranks step together. Else true if it begins another one.
  std::optional<bool> end_step(Rank rank);
  /// It has ended its last step: nobody waits for it.
  void end_rank(Rank rank);

  // Gradients and tasks.
  /// A gradient has begun there, of asynchronous ranks.
  void contribute_own(Rank rank, std::uint32_t gradient, int step);
  /// A gradient is over there.
  void finish_one(Rank rank);
  /// A task of an owner is over: a contribution has come, an answer has left, or a batch is over.
  void side_over(std::uint32_t task);

  /// The steps that all ranks have ended together; none: ranks step together.
  std::optional<std::uint64_t> steps_ended() const;
  void add_paces(Simulation& simulation) const;

 private:
  void begin_late(Rank rank);
  void begin_batch(std::size_t partition);
  void answer(std::size_t partition, Rank rank);

  Engine& engine_;
  std::optional<RankSteps> steps_;     // where ranks drift apart
  std::optional<LateExchanges> late_;  // of a staleness above 1, of ranks that differ
};

}  // namespace casync::engine
