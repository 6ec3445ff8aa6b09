// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>

#include "runtime/transport/transport.h"

namespace casync::runtime {

/// The pause between two looks at a device that comes to rest.
inline constexpr std::chrono::microseconds kRestPause{200};

/// Wakes the progress thread from a thread of the device's, until it is silenced.
class Bell {
 public:
  explicit Bell(Transport& transport) : transport_(&transport) {}
  static void ring(void* bell);
  /// From here on a ring wakes nobody. Returns is_at_rest(): then no ring is under way either, and the bell may end.
  bool silence();
  /// Notes that it will ring once more.
  void asked() { ++asked_; }
  /// Returns true if it has rung as often as it was asked to.
  bool is_at_rest() const { return rung_.load() == asked_; }

 private:
  std::mutex mutex_;
  Transport* transport_;  ///< null: silent
  std::atomic<std::uint64_t> rung_{0};
  std::uint64_t asked_ = 0;  ///< the progress thread's
};

}  // namespace casync::runtime
