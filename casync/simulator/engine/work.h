// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "casync/simulator/engine/virtual_clock.h"

namespace casync::engine {

/// Something of a rank that takes time, at a rate that may change on the way.
class Work {
 public:
  /// Its end is an event of this kind.
  explicit Work(Event::Kind kind) : kind_(kind) {}

  /// Begins work of so many seconds at rate 1.
  void start(VirtualClock& clock, Rank rank, double seconds, double rate) {
    left_ = seconds;
    rate_ = rate;
    since_ = clock.now();
    running_ = true;
    ++version_;
    clock.push(kind_, since_ + seconds / rate, static_cast<std::uint32_t>(rank), version_, rank, rank);
  }
  /// Goes on at this rate, if it is under way.
  void change_rate(VirtualClock& clock, Rank rank, double rate) {
    if (!running_ || rate_ == rate) return;
    start(clock, rank, std::max(0.0, left_ - (clock.now() - since_) * rate_), rate);
  }
  void stop() { running_ = false; }

  bool running() const { return running_; }
  /// Returns true if the event is the end of this work: no other rate has replaced it.
  bool ends_with(const Event& event) const { return event.version == version_; }

 private:
  Event::Kind kind_;
  double left_ = 0;  ///< seconds at rate 1, at `since_`
  double rate_ = 1;
  double since_ = 0;
  bool running_ = false;
  std::uint32_t version_ = 0;
};

}  // namespace casync::engine
