// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "base/units.h"
#include "casync/model/plan.h"

namespace casync {

/// The owner's batches with one partition of asynchronous ranks: each takes contributions that have come and
/// answers ranks that wait. An answer to a rank's step t waits until every rank has contributed to step t - bound or to
/// a later one (stale synchronous parallel, Ho et al. 2013), and `first` ranks to step t or to a later one (the first K
/// of N, Chen et al. 2016). A batch takes all that has come, by step and by rank. Where every answer waits for all
/// ranks, it takes nothing of a later step than it answers: the contributions to one step are added in the order of
/// ranks. Only one batch is under way at a time.
///
/// Dedicated servers contribute nothing and count for nobody's answer. They ask for answers to their own steps: that to
/// step t waits until all others have contributed to step t or to a later one.
///
/// All ranks are looked at when the last of the slowest ones goes on, or when `first` of them have come to a later
/// step, and not for each contribution. Steps of a rank ascend until go_to().
///
/// One thread.
class AnswerBatches {
 public:
  static constexpr std::uint32_t kEver = std::numeric_limits<std::uint32_t>::max();

  /// `contributes`, by rank: false for dedicated servers. Not all are.
  AnswerBatches(const Asynchronous& rule, const std::vector<bool>& contributes);

  /// Steps to which `rank` has contributed, or for which it has asked: all below this one; kEver: it has ended.
  std::uint32_t contributed(Rank rank) const { return seat(rank).contributed; }
  /// Returns true if `rank` has no answer to its last contribution yet.
  bool waits(Rank rank) const { return seat(rank).waits; }
  /// The contribution of `rank`, which does not wait, to `step` has come, or the question of a dedicated server.
  void contribute(Rank rank, std::uint32_t step);
  /// `rank` contributes nothing more, gets no answers, and nobody waits for it.
  void end(Rank rank);
  /// The ranks that calls have looked at so far, each counted as often as that happened.
  std::uint64_t looks() const { return looks_; }

  /// Begins a batch. Returns false if no answer is due, or one is under way.
  bool begin();
  /// The ranks whose contributions the batch takes, in the order in which they are added, and those that it answers.
  std::span<const Rank> taken() const { return taken_; }
  std::span<const Rank> answered() const { return answered_; }
  /// The step of the last answer to `rank`.
  std::uint32_t answered_step(Rank rank) const { return seat(rank).answered_step; }
  /// Ends the batch: its answers leave. The next one to a rank is made only after left().
  void finish();
  void left(Rank rank);

  /// All ranks have contributed to the steps below this one, and been answered.
  void go_to(std::uint32_t step);

  /// An answer that waits for another rank's contribution.
  struct Wait {
    Rank rank = 0;            ///< gets none
    std::uint32_t step = 0;   ///< to this step
    Rank slowest = 0;         ///< until this one goes on,
    std::uint32_t steps = 0;  ///< which has contributed to the steps below this one
  };
  std::optional<Wait> wait_of(Rank rank) const;

 private:
  struct Seat {
    bool contributes = true;
    std::uint32_t contributed = 0;
    std::uint32_t step = 0;  ///< of the last contribution
    bool waits = false;
    bool leaving = false;
    std::uint32_t answered_step = 0;
  };
  Seat& seat(Rank rank) { return seats_[static_cast<std::size_t>(rank)]; }
  const Seat& seat(Rank rank) const { return seats_[static_cast<std::size_t>(rank)]; }
  Rank slowest() const;
  void count();
  void go_on(Seat& one, std::uint32_t contributed);
  bool is_due(const Seat& one) const;
  void enter(Rank rank);
  void take_up_to(std::uint32_t latest);

  const Asynchronous rule_;
  bool is_synchronous_ = false;  ///< every answer waits for all ranks
  std::vector<Seat> seats_;      ///< by rank
  // Counts of the ranks that contribute: the steps to which all have contributed, and the number of ranks with no more;
  // the steps to which as many as the rule's `first` have, and the number of ranks with more.
  std::uint32_t least_ = 0, of_first_ = 0;
  std::size_t at_least_ = 0, beyond_first_ = 0;
  std::vector<std::uint32_t> counts_;  ///< count() sorts here
  std::vector<Rank> arrived_;          ///< their contributions have come, and no batch has taken them
  std::vector<Rank> due_, late_;       ///< they wait, and their last answer has left; late_: for other ranks
  bool under_way_ = false;
  std::vector<Rank> taken_, answered_;
  std::uint64_t looks_ = 0;
};

}  // namespace casync
