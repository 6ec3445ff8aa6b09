// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "base/view.h"
#include "casync/graph/answer_batches.h"
#include "casync/graph/task_graph.h"
#include "casync/model/plan.h"
#include "compll/codec/codec.h"
#include "runtime/executor/task_runner.h"
#include "runtime/executor/untold_sums.h"

namespace casync::runtime {

class GradientRun;

/// Hops of an owner_graph().
inline constexpr std::uint32_t kContributionHop = 0, kAnswerHop = 1;

/// One partition of a gradient of asynchronous ranks at its owner: the batches of contributions and answers, what ranks
/// have not been told, and the messages of both.
///
/// Threads: the progress thread's, unless a comment says otherwise. The inputs of a batch do not change while the batch
/// is under way.
class OwnedPartition {
 public:
  /// `contributes`, by rank: false for dedicated servers; borrowed. `residuals`: the codec of answers keeps them.
  OwnedPartition(const Asynchronous& rule, std::uint32_t number, Slice slice, const std::vector<bool>& contributes,
                 Rank self, bool residuals);

  std::uint32_t number() const { return number_; }
  Slice slice() const { return slice_; }
  Elements elements() const { return slice_.count; }
  AnswerBatches& batches() { return batches_; }
  const AnswerBatches& batches() const { return batches_; }
  /// The sums on the host.
  UntoldSums& sums() { return sums_; }
  const UntoldSums& sums() const { return sums_; }

  /// The messages with another rank.
  struct PeerMessages {
    TaskId send{};
    BufferId contribution{}, answer{};
  };
  PeerMessages& messages(Rank rank) { return messages_[static_cast<std::size_t>(rank)]; }
  const PeerMessages& messages(Rank rank) const { return messages_[static_cast<std::size_t>(rank)]; }
  /// The buffer in which this rank's own step, `run`, awaits its answer.
  BufferId own_answer(GradientRun& run) const;

  /// Begins a batch. Returns false if no answer is due. `own`: the memory for an answer to this rank.
  bool begin(View own);
  /// Begins a batch that gives all ranks the mean of their sums, after a consensus in the step below `step`.
  void begin_levelling(std::uint32_t step);
  void end_levelling() { levels_ = false; }
  bool is_levelling() const { return levels_; }

  /// DataLoss: the contribution of `rank` is not a payload of its codec. Any thread.
  Status check(const GradientRun& side, Rank rank) const;
  /// A batch of sums on the host, on any thread: adds contributions, makes answers. DataLoss: as check().
  TaskOutcome run(GradientRun& side, std::uint64_t seed, float scale, Scratch& scratch);
  /// An answer of the batch has been made on a device.
  void note_answer(Rank rank, compll::Encoded made) { made_[static_cast<std::size_t>(rank)] = made; }
  /// The outcome of an answer of the last batch.
  const compll::Encoded& answer_to(Rank rank) const { return made_[static_cast<std::size_t>(rank)]; }

 private:
  Status add(GradientRun& side, Rank rank, Scratch& scratch);

  const std::uint32_t number_;
  const Slice slice_;
  const std::vector<bool>& contributes_;
  const Rank self_;
  AnswerBatches batches_;
  UntoldSums sums_;
  std::vector<PeerMessages> messages_;  ///< by rank
  std::vector<compll::Encoded> made_;   ///< by rank
  View own_ = {};                       ///< memory for the answer to this rank
  bool levels_ = false;
};

}  // namespace casync::runtime
