// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "base/status.h"
#include "casync/graph/task_graph.h"
#include "compll/codec/codec.h"
#include "runtime/device/device.h"
#include "runtime/executor/device_sums.h"

namespace casync::runtime {

/// The part of an owner's side that lies in a device's memory, and the tasks of its batches on lanes: the first one
/// takes contributions, each of the others makes one answer, once the host knows which contributions were left out.
///
/// Threads: the progress thread's.
class DeviceAnswers {
 public:
  /// `sums`: those of each partition. Takes memory for them. Unavailable: no memory.
  static Result<std::unique_ptr<DeviceAnswers>> make(std::vector<DeviceSums> sums, Device& device);

  DeviceSums& sums(TaskId batch) { return sums_[TaskGraph::index(batch)]; }
  const DeviceSums& sums(TaskId batch) const { return sums_[TaskGraph::index(batch)]; }
  /// The codec whose code of a contribution is what is added, and says if that is all of it.
  const compll::Codec& contribution() const { return *contribution_; }

  /// Tasks on lanes: a batch has the number of its partition, and takes contributions; then come the answers.
  std::size_t tasks() const { return sums_.size() * (1 + ranks_); }
  TaskId answer_task(TaskId batch, Rank rank) const;
  TaskId batch_of(TaskId task) const;
  /// The rank whose answer the task makes; nothing: it takes contributions.
  std::optional<Rank> addressee(TaskId task) const;

  /// A batch begins to make so many answers.
  void begin_answers(TaskId batch, std::size_t count) { to_make_[TaskGraph::index(batch)] = count; }
  /// Returns true if it was the batch's last one.
  bool end_answer(TaskId batch) { return --to_make_[TaskGraph::index(batch)] == 0; }

 private:
  explicit DeviceAnswers(std::vector<DeviceSums> sums);

  std::vector<DeviceSums> sums_;  ///< by partition
  const std::size_t ranks_;
  std::vector<std::size_t> to_make_;  ///< by partition
  std::unique_ptr<compll::Codec> contribution_;
  std::unique_ptr<DeviceBuffer> memory_;
};

}  // namespace casync::runtime
