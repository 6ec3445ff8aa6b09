// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "runtime/collective/round_transport.h"
#include "runtime/device/device.h"
#include "runtime/executor/bell.h"

namespace casync::runtime {

/// The stream that rounds are queued in, the transport on it, and the bell that wakes the progress thread once work is
/// over; and how all that ends, in order or not.
///
/// Threads: the progress thread. Errors: as Stream and RoundTransport.
class RoundStream {
 public:
  using Open = std::function<Result<std::unique_ptr<RoundTransport>>(Stream&)>;

  /// Borrows both. `waker`: its wake() is called when work of the device is over.
  RoundStream(Device& device, Transport& waker);
  ~RoundStream();  ///< after close() or come_to_rest()
  RoundStream(const RoundStream&) = delete;
  RoundStream& operator=(const RoundStream&) = delete;

  /// Makes the stream, and opens the transport on it. On a thread of the program, ahead of all else.
  Status open(const Open& open);
  Stream& stream() const { return *stream_; }
  RoundTransport& transport() const { return *transport_; }
  /// Wakes the progress thread once all that is queued is over.
  Status ring();

  /// Ends the transport in order, after the last step. On a failure that is logged it ends all the same.
  void close(Clock::time_point deadline);
  /// After a failure: aborts the transport and waits until the device writes nothing more. False: not by the deadline;
  /// then what the device may still use is kept for ever.
  bool come_to_rest(Clock::time_point deadline);

 private:
  void silence();

  Device& device_;
  // Shared with the device, which may use them for ever. They are asked until the end.
  std::shared_ptr<Bell> bell_;
  std::shared_ptr<Stream> stream_;
  std::unique_ptr<Event> rest_;
  std::shared_ptr<RoundTransport> transport_;
};

}  // namespace casync::runtime
