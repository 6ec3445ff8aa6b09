// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "base/view.h"
#include "compll/codec/coded/coded_codec.h"
#include "runtime/device/stream.h"

namespace casync::runtime {

/// Codes the payloads of one task, in the order of a device's stream: between the copies that bring plain payloads to
/// pinned memory and back. A thread of the device's does it, and the progress thread goes on.
///
/// Threads: the progress thread. Errors: as Stream.
class StreamCoder {
 public:
  StreamCoder() = default;
  StreamCoder(const StreamCoder&) = delete;
  StreamCoder& operator=(const StreamCoder&) = delete;

  /// Makes room for so many payloads of a task, while none is under way.
  void reserve(std::size_t payloads) { jobs_.resize(payloads); }
  /// Begins a task, whose memory stays until an event behind it is done.
  void begin() { used_ = 0; }
  /// Codes the plain payload of n elements in `plain`, once the stream has come here.
  Status write(const compll::PayloadCoding& coding, Elements n, View plain, View payload, Stream& stream);
  /// Reads a payload that has been checked into `plain`.
  Status read(const compll::PayloadCoding& coding, Elements n, View payload, View plain, Stream& stream);
  /// The size of the payload that was written last; behind the task's event.
  Bytes written() const { return written_.load(); }

  /// Returns once nothing is being coded. From here on nothing is, so that memory may go away; the coder itself stays
  /// as long as the device may call it.
  void silence();

 private:
  struct Job {
    StreamCoder* coder = nullptr;
    const compll::PayloadCoding* coding = nullptr;
    Elements n = 0;
    bool writes = false;
    View plain, payload;
  };
  static void run(void* job);
  Status queue(const Job& job, Stream& stream);

  std::mutex mutex_;  ///< of silent_, and held while a payload is coded
  bool silent_ = false;
  std::vector<Job> jobs_;
  std::size_t used_ = 0;
  std::atomic<Bytes> written_{0};
};

}  // namespace casync::runtime
