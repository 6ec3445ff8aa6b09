// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace casync {

/// A task that could run, ordered as the executor's ready queue orders them.
struct UrgentTask {
  int priority = 0;           ///< smaller first
  std::uint32_t hop = 0;      ///< then larger first
  std::uint64_t arrival = 0;  ///< then earlier first; never 0 in a queue
  std::uint32_t task = 0;
};

/// Tasks that could run, the most urgent first.
class UrgentQueue {
 public:
  bool empty() const { return heap_.empty(); }
  const UrgentTask& top() const { return heap_.front(); }

  void push(const UrgentTask& task) {
    heap_.push_back(task);
    std::push_heap(heap_.begin(), heap_.end(), after);
  }

  UrgentTask pop() {
    std::pop_heap(heap_.begin(), heap_.end(), after);
    const UrgentTask task = heap_.back();
    heap_.pop_back();
    return task;
  }

 private:
  static bool after(const UrgentTask& a, const UrgentTask& b) {
    if (a.priority != b.priority) return a.priority > b.priority;
    return a.hop != b.hop ? a.hop < b.hop : a.arrival > b.arrival;
  }

  std::vector<UrgentTask> heap_;
};

}  // namespace casync
