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
#include "runtime/executor/owned_partition.h"

namespace casync::runtime {

/// The owner's side of a gradient of asynchronous ranks: the partitions that this rank owns, and the messages of an
/// owner_graph(). A task is a batch of one partition, named by its place among them.
///
/// Threads: the progress thread's, unless a comment says otherwise.
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
  Answering(const Answering&) = delete;
  Answering& operator=(const Answering&) = delete;

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
  OwnedPartition& of(TaskId task) { return partitions_[TaskGraph::index(task)]; }
  const OwnedPartition& of(TaskId task) const { return partitions_[TaskGraph::index(task)]; }
  /// The place of a message's partition; nothing: it is none of these.
  std::optional<TaskId> find(std::uint32_t number) const;

  /// Contributions to `step` and later ones are put off from now on; kEver: none is.
  void put_off_from(std::uint32_t step) { put_off_from_ = step; }
  bool puts_off(std::uint32_t step) const { return step >= put_off_from_; }
  /// True until this rank begins its first step, and from a consensus on until it begins the next step: sums do not
  /// change then. Any thread, while this rank has no step under way.
  bool is_closed() const { return put_off_from_ != kEver; }

  /// As OwnedPartition::begin, wherever the sums lie.
  bool begin(TaskId task, View own);
  /// As OwnedPartition::begin_levelling.
  void begin_levelling(TaskId task, std::uint32_t step);
  /// Ends the levelling of one partition. Returns true if it was the last one.
  bool finish_levelling(TaskId task);
  /// All of that for sums in the memory of a device, in copies that wait. Unavailable: as Device::read and write.
  Status level_on_device(std::uint32_t step);

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
  const std::vector<bool> contributes_;  ///< by rank
  std::vector<OwnedPartition> partitions_;
  std::vector<Addressee> addressees_;  ///< by task of the graph
  std::uint32_t put_off_from_ = 0;
  std::size_t to_level_ = 0;
  std::unique_ptr<DeviceBuffer> memory_;  ///< of messages and, on the host, of sums
  std::unique_ptr<DeviceAnswers> on_device_;
};

/// The words for an error: "its answer for partition 0 waits for rank 2, which has contributed to 3 steps".
std::string text_of(const AnswerBatches::Wait& wait, std::uint32_t partition);

}  // namespace casync::runtime
