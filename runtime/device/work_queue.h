// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"

namespace casync::runtime {

/// One piece of work for a queue: a plain function with its argument, so that queueing allocates nothing.
struct Work {
  void (*run)(void* context, std::uint64_t argument) = nullptr;
  void* context = nullptr;
  std::uint64_t argument = 0;
};

/// A thread of the host that runs work in order, next to the caller.
///
/// Threads: any thread enqueues; `run` is called on the queue's thread and lets no exception out. The context lives
/// until the work has run. The queue's thread takes no signals.
class WorkQueue {
 public:
  virtual ~WorkQueue() = default;  ///< runs what is queued, then ends
  /// False: the queue is full (kQueueDepth pieces wait); nothing was queued.
  virtual bool enqueue(Work work) = 0;
  /// Processor seconds that the queue's thread has taken so far. Any thread.
  virtual double processor_seconds() const = 0;
};

inline constexpr std::size_t kQueueDepth = 64;

/// `name` is the thread's. Unavailable: no thread left.
Result<std::unique_ptr<WorkQueue>> make_work_queue(const std::string& name);

}  // namespace casync::runtime
