// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/status.h"
#include "casync/primitives/primitive.h"

namespace casync {

/// A partition: `slice` of the gradient, encoded as `hop` says.
struct Buffer {
  Slice slice;
  Hop hop = Hop::kFirst;
  std::uint32_t partition = 0;  ///< partition number, as messages, timelines and errors show it

  bool operator==(const Buffer&) const = default;
};

/// The tasks of one rank for one gradient in one step, and the order between them. Immutable once built;
/// ids are indices, so a graph copies, compares and prints as plain data.
class TaskGraph {
 public:
  class Builder;

  std::span<const Primitive> tasks() const { return tasks_; }
  std::span<const Buffer> buffers() const { return buffers_; }

  /// Tasks that may start once `task` is done, and how many tasks `task` itself waits for.
  std::span<const TaskId> successors(TaskId task) const;
  int predecessors(TaskId task) const { return predecessors_[index(task)]; }

  /// Number of tasks that read or write `buffer`; when all of them are done its memory can serve another buffer.
  int uses(BufferId buffer) const { return uses_[index(buffer)]; }

  static std::size_t index(TaskId id) { return static_cast<std::size_t>(id); }
  static std::size_t index(BufferId id) { return static_cast<std::size_t>(id); }

  /// Reports the first fault of a graph, for graphs of unknown origin and for tests. Internal, naming the
  /// task: an id or rank out of range, a slice that is not its buffer's, a buffer written twice or read but
  /// never written, a message named twice, a sum that travels, a merge of codes of different hops, an order that
  /// goes in a circle, elements encoded twice or merged twice (a codec keeps what is left of each in one place),
  /// elements decoded twice or never, and elements that change while another task may still have to read them: by a
  /// decode, or by a sum, which takes the gradient's memory (the code that a send reads may lie there, too). A merge
  /// into no elements takes over if its contributions are finite, of whatever slices.
  Status validate(Elements elements, int ranks, Rank self) const {
    return validate(elements, ranks, self, {0, elements});
  }
  /// The same where this rank decodes only these elements.
  Status validate(Elements elements, int ranks, Rank self, const Slice& decoded) const;

 private:
  std::vector<Primitive> tasks_;
  std::vector<Buffer> buffers_;
  std::vector<TaskId> successors_;  // of task t: [first_successor_[t], first_successor_[t + 1])
  std::vector<std::uint32_t> first_successor_;
  std::vector<int> predecessors_;
  std::vector<int> uses_;
};

/// Collects tasks; edges follow from the buffers: a reader waits for the task that wrote what it reads,
/// whichever of the two was added first. Builds any graph without checking it; validate() reports the errors.
class TaskGraph::Builder {
 public:
  BufferId buffer(Buffer buffer);
  TaskId add(Primitive task);
  /// An order that no buffer shows. Both ids come from add().
  void after(TaskId first, TaskId then);
  TaskGraph build() &&;

 private:
  std::vector<Primitive> tasks_;
  std::vector<Buffer> buffers_;
  std::vector<std::pair<TaskId, TaskId>> edges_;
};

}  // namespace casync
