// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "casync/primitives/primitive.h"

namespace casync::runtime {

class GradientRun;

/// A task whose inputs are there.
struct ReadyTask {
  GradientRun* run = nullptr;
  TaskId task{};
  int priority = 0;           ///< smaller first: needed sooner in the next forward pass
  std::uint32_t hop = 0;      ///< then larger first: a partition near the end of its way, others wait for it
  std::uint64_t arrival = 0;  ///< then earlier first

  bool after(const ReadyTask& other) const {
    if (priority != other.priority) return priority > other.priority;
    return hop != other.hop ? hop < other.hop : arrival > other.arrival;
  }
};

/// Ready tasks of one resource, the most urgent first. One thread.
class ReadyQueue {
 public:
  /// Room for `count` more tasks at once, so that push() never allocates.
  void reserve(std::size_t count) { heap_.reserve(heap_.capacity() + count); }
  bool empty() const { return heap_.empty(); }
  const ReadyTask& top() const { return heap_.front(); }

  void push(ReadyTask task) {
    heap_.push_back(task);
    std::push_heap(heap_.begin(), heap_.end(), later);
  }

  ReadyTask pop() {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const ReadyTask task = heap_.back();
    heap_.pop_back();
    return task;
  }

  void clear() { heap_.clear(); }
  /// Calls visit(const ReadyTask&) for each, in no order.
  template <class Visit>
  void for_each(Visit visit) const {
    for (const ReadyTask& task : heap_) visit(task);
  }

 private:
  static bool later(const ReadyTask& a, const ReadyTask& b) { return a.after(b); }

  std::vector<ReadyTask> heap_;
};

/// Drops from the top tasks of bundles that have been dissolved. Returns true if none is left.
bool take_stale(ReadyQueue& queue);

}  // namespace casync::runtime
