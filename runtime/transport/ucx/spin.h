// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "base/clock.h"

namespace casync::runtime {

/// The time to poll ahead of a sleep: up to `most`, less while polling keeps being in vain.
class Spin {
 public:
  explicit Spin(std::chrono::microseconds most) : most_(most), length_(most) {}

  Clock::duration length() const { return length_; }

  /// A whole wait, polling and sleeping, took this long.
  void slept(Clock::duration waited) {
    // Twice the longest poll: a wait that a full poll would have caught, give or take the cost of sleeping.
    length_ = waited <= 2 * most_ ? most_ : length_ / 2;
  }

 private:
  Clock::duration most_;
  Clock::duration length_;
};

}  // namespace casync::runtime
