// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "base/units.h"
#include "casync/graph/task_graph.h"

namespace casync::runtime {

/// The messages that a graph receives, and those of them that have begun to come in the step under way.
///
/// Threads: the progress thread's.
class Arrivals {
 public:
  class Arrival {
   public:
    Arrival(const Recv& recv, TaskId task) : id_(recv.id), from_(recv.from), task_(task), to_(recv.to) {}
    MessageId id() const { return id_; }
    Rank from() const { return from_; }
    /// Its Recv, and that one's buffer.
    TaskId task() const { return task_; }
    BufferId to() const { return to_; }

    bool has_begun() const { return has_begun_; }
    void begin() { has_begun_ = true; }
    /// Another one like it may come.
    void forget() { has_begun_ = false; }

   private:
    MessageId id_;
    Rank from_ = 0;
    TaskId task_{};
    BufferId to_{};
    bool has_begun_ = false;
  };

  explicit Arrivals(const TaskGraph& graph);
  Arrivals(const Arrivals&) = delete;
  Arrivals& operator=(const Arrivals&) = delete;

  /// A step begins, and none has come.
  void begin() {
    for (Arrival& one : sorted_) one.forget();
  }
  /// Null: the graph receives nothing like it.
  Arrival* find(MessageId id, Rank from);
  const Arrival* find(MessageId id, Rank from) const;
  std::span<const Arrival> all() const { return sorted_; }

 private:
  std::vector<Arrival> sorted_;  ///< by message and sender
};

}  // namespace casync::runtime
