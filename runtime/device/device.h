// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "base/units.h"
#include "base/view.h"

namespace casync::runtime {

/// One piece of work for a stream: a plain function with its argument, so that queueing allocates nothing.
struct Work {
  void (*run)(void* context, std::uint64_t argument) = nullptr;
  void* context = nullptr;
  std::uint64_t argument = 0;
};

/// Runs work in order, concurrently with the caller. On the host a stream is a thread with a queue.
///
/// Threads: any thread enqueues; `run` is called on the stream and lets no exception out. The context lives until
/// the work has run. The stream's thread takes no signals.
class Stream {
 public:
  virtual ~Stream() = default;  ///< runs the queued work, then ends
  /// Returns false if the queue is full (kStreamDepth pieces wait): nothing was queued.
  virtual bool enqueue(Work work) = 0;
  /// Processor seconds that the stream's thread has taken so far; 0 where it has none. Any thread.
  virtual double processor_seconds() const = 0;
};

inline constexpr std::size_t kStreamDepth = 64;

/// Memory of a device, owned.
class DeviceBuffer {
 public:
  virtual ~DeviceBuffer() = default;
  View view() const { return view_; }

 protected:
  View view_;
};

/// The device that holds the gradients and runs the codecs.
class Device {
 public:
  virtual ~Device() = default;
  virtual std::string name() const = 0;
  /// `name` is the thread's, where there is one. Unavailable: no thread left.
  virtual Result<std::unique_ptr<Stream>> make_stream(const std::string& name) = 0;
  /// Zeroed memory aligned to pages, taken from the system only where it is touched. Unavailable: how much was
  /// asked for, and what the system said.
  virtual Result<std::unique_ptr<DeviceBuffer>> allocate(Bytes bytes) = 0;
};

}  // namespace casync::runtime
