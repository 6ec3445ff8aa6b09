// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/view.h"
#include "casync/graph/answer_batches.h"
#include "casync/graph/task_graph.h"
#include "casync/model/plan.h"
#include "runtime/device/device.h"
#include "runtime/executor/device_answers.h"
#include "runtime/executor/task_runner.h"
#include "runtime/executor/untold_sums.h"

namespace casync::runtime {

/// Hops of an owner_graph().
inline constexpr std::uint32_t kContributionHop = 0, kAnswerHop = 1;

/// The owner's side of a gradient of asynchronous ranks: the partitions that this rank owns, and the
/// messages of an owner_graph(). A task is a batch of one partition, named by its place among them.
///
/// Threads: the progress thread's, but for run() and what says otherwise. What a batch works on stays as it is while
/// the batch is under way.
class Answering {
 public:
  static constexpr std::uint32_t kEver = AnswerBatches::kEver;

  struct Owned {
    std::uint32_t number = 0;
    Slice slice;
  };
  /// `contributes`, by rank: false for dedicated servers. `residuals`: the codec of answers keeps them.
  Answering(const Asynchronous& rule, const TaskGraph& graph, std::span<const Owned> owned,
            std::vector<bool> contributes, Rank self, bool residuals);

  /// Allocates sums, and a place for each message of `side`, the run of this. Unavailable: no memory.
  Status allocate(GradientRun& side, Device& device);
  /// The sums in the memory of a device; null on the host.
  DeviceAnswers* on_device() const { return on_device_.get(); }

  bool contributes(Rank rank) const { return contributes_[static_cast<std::size_t>(rank)]; }
  std::size_t partitions() const { return partitions_.size(); }
  template <class Visit>
  void for_each_task(Visit visit) const {
    for (std::size_t i = 0; i < partitions_.size(); ++i) visit(TaskId(static_cast<std::uint32_t>(i)));
  }
  Slice slice_of(TaskId task) const { return at(task).owned.slice; }
  std::uint32_t number_of(TaskId task) const { return at(task).owned.number; }
  Elements elements_of(TaskId task) const { return at(task).sums.elements(); }
  /// The buffer in which this rank's own step, `run`, awaits its answer.
  BufferId own_answer(GradientRun& run, TaskId task) const;
  AnswerBatches& batches_of(TaskId task) { return at(task).batches; }
  const AnswerBatches& batches_of(TaskId task) const { return at(task).batches; }
  /// Returns true if one of these is a message's partition.
  bool owns(std::uint32_t number) const { return place_of(number) < partitions_.size(); }
  /// The place of a message's partition, which is one of these.
  TaskId task_of(std::uint32_t number) const;

  /// Contributions to `step` and later ones are put off from now on; kEver: none is.
  void put_off_from(std::uint32_t step) { put_off_from_ = step; }
  bool puts_off(std::uint32_t step) const { return step >= put_off_from_; }
  /// True until this rank begins its first step, and from a consensus on until it begins the next step: sums do not
  /// change then. Any thread, while this rank has no step under way.
  bool is_closed() const { return put_off_from_ != kEver; }

  /// Begins a batch. Returns false if no answer is due. `own`: the memory for an answer to this rank.
  bool begin(TaskId task, View own);
  /// Begins a batch that gives all ranks the mean of their sums, after a consensus in the step below `step`.
  void begin_levelling(TaskId task, std::uint32_t step);
  bool is_levelling(TaskId task) const { return at(task).levels; }
  /// Ends the levelling of one partition. Returns true if it was the last one.
  bool finish_levelling(TaskId task);
  /// All of that for sums in the memory of a device, in copies that wait. Unavailable: as Device::read and write.
  Status level_on_device(std::uint32_t step);

  /// DataLoss: the contribution of `rank` is not a payload of its codec. Any thread.
  Status check(const GradientRun& side, TaskId task, Rank rank) const;
  /// A batch of sums on the host, on any thread: adds contributions, makes answers. DataLoss: as check().
  TaskOutcome run(GradientRun& side, TaskId task, std::uint64_t seed, float scale, Scratch& scratch);
  /// An answer of the batch has been made on a device.
  void note_answer(TaskId task, Rank rank, compll::Encoded made) {
    at(task).made[static_cast<std::size_t>(rank)] = made;
  }
  /// The outcome of an answer of the last batch.
  const compll::Encoded& answer_to(TaskId task, Rank rank) const {
    return at(task).made[static_cast<std::size_t>(rank)];
  }

  /// The messages of a partition with another rank.
  struct Messages {
    TaskId send{};
    BufferId contribution{}, answer{};
  };
  const Messages& messages(TaskId task, Rank rank) const { return at(task).messages[static_cast<std::size_t>(rank)]; }
  /// The batch and the rank of an answer's Send.
  struct Addressee {
    TaskId task{};
    Rank rank = 0;
  };
  Addressee addressee(TaskId send) const { return addressees_[TaskGraph::index(send)]; }

  /// A state: the sums of each partition, which are the same for all ranks after a consensus. Any thread, while
  /// is_closed() and this rank has no step under way.
  Elements state_floats() const;
  Status read(std::span<float> to) const;
  /// Goes on from `step`. `from`: state_floats() of them, or none: nothing is untold. Unavailable, both: as
  /// Device::read and write.
  Status write(std::span<const float> from, std::uint32_t step);

 private:
  struct Partition {
    Owned owned;
    AnswerBatches batches;
    UntoldSums sums;
    std::vector<Messages> messages;     ///< by rank
    std::vector<compll::Encoded> made;  ///< by rank
    View own = {};                      ///< memory for the answer to this rank
    bool levels = false;
  };
  Partition& at(TaskId task) { return partitions_[TaskGraph::index(task)]; }
  const Partition& at(TaskId task) const { return partitions_[TaskGraph::index(task)]; }
  std::size_t place_of(std::uint32_t number) const;
  Status add(GradientRun& side, TaskId task, Rank rank, Scratch& scratch);

  const std::vector<bool> contributes_;  ///< by rank
  const Rank self_;
  std::vector<Partition> partitions_;
  std::vector<Addressee> addressees_;  ///< by task of the graph
  std::uint32_t put_off_from_ = 0;
  std::size_t to_level_ = 0;
  std::unique_ptr<DeviceBuffer> memory_;  ///< of messages and, on the host, of sums
  std::unique_ptr<DeviceAnswers> on_device_;
};

/// The words for an error: "its answer for partition 0 waits for rank 2, which has contributed to 3 steps".
std::string text_of(const AnswerBatches::Wait& wait, std::uint32_t partition);

}  // namespace casync::runtime
