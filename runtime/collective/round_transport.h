// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "base/units.h"
#include "runtime/device/device_memory.h"

namespace casync::runtime {

/// One message of an exchange: it has no name, only a peer and a size.
struct RoundPiece {
  Rank peer = 0;
  DeviceView memory;
};

/// An all-reduce of elements, in place.
enum class Reduction : std::uint8_t {
  kSumOfFloats,  ///< float32; the order of additions is the library's
  kMostOfBytes,  ///< the largest of each byte
};

/// Messages between the ranks of one job that match by their order. Beside Transport, whose messages have names.
///
/// Order:    between two ranks the k-th send of one and the k-th recv of the other are one message, of one size. All
///           ranks call all_reduce() alike. A rank that differs makes others wait without end: whoever waits has a
///           deadline, and calls abort().
/// Stream:   everything is queued in the one stream that the transport was opened with, and waits for nothing on the
///           host. Memory stays until a later event is done.
/// Starting: a call begins, and poll() says when its work is in the stream. Until then the caller queues nothing there.
/// Threads:  one at a time, but for abort().
/// Errors:   name the rank, the library's version, the call and the library's words. PeerFailure: another rank's
///           process or network. Unavailable: the device or this machine. Internal: ranks or arguments that do not fit.
///           After the first nothing but abort() and the destructor may follow. Aborted: abort() was called.
class RoundTransport {
 public:
  virtual ~RoundTransport() = default;  ///< as abort(), unless close() has ended it

  /// All sends and recvs go side by side. Messages of no bytes are left out on both sides. No peer is this rank.
  virtual Status exchange(std::span<const RoundPiece> sends, std::span<const RoundPiece> recvs) = 0;
  virtual Status all_reduce(DeviceView memory, Reduction reduction) = 0;

  /// True: everything that was called is in the stream. Also notices failures that come later, of work under way.
  virtual Result<bool> poll() = 0;

  /// Ends it in order, with everything that was queued. Every rank calls it. Timeout: not by the deadline; it was
  /// aborted.
  virtual Status close(Clock::time_point deadline) = 0;

  /// Ends work that is under way, which leaves its memory with any bytes. Returns at once: a thread of its own does it,
  /// so that the caller may be one that must not wait. Any thread, any number of times.
  virtual void abort() = 0;
  /// Waits until abort() has ended the work. False: not by the deadline; the thread goes on.
  virtual bool wait_for_abort(Clock::time_point deadline) = 0;

  /// One line for reports: "nccl 2.30.7, 4 ranks".
  virtual std::string description() const = 0;
};

}  // namespace casync::runtime
