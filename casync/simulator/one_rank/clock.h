// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>

#include "casync/simulator/event_queue.h"

namespace casync::one_rank {

/// Virtual time, and the events to come.
class Clock {
 public:
  double now() const { return now_; }
  /// Returns true if more happens at this moment.
  bool has_event_now() const { return !events_.empty() && events_.next_time() == now_; }
  Event pop() { return events_.pop(); }
  /// Goes to the moment of the next event; false: there is none.
  bool go_on() {
    if (events_.empty()) return false;
    now_ = events_.next_time();
    return true;
  }
  void push(double time, Event::Kind kind, std::uint32_t subject, std::uint32_t version = 0) {
    events_.push(time, kind, subject, version);
  }

 private:
  double now_ = 0;
  EventQueue events_;
};

/// Something that takes time, at a rate that may change on the way.
class Work {
 public:
  /// Its end is an event of this kind.
  explicit Work(Event::Kind kind) : kind_(kind) {}

  /// Begins work of so many seconds at rate 1.
  void start(Clock& clock, double seconds, double rate) {
    left_ = seconds;
    rate_ = rate;
    since_ = clock.now();
    running_ = true;
    ++version_;
    clock.push(since_ + seconds / rate, kind_, 0, version_);
  }
  /// Goes on at this rate, if it is under way.
  void change_rate(Clock& clock, double rate) {
    if (!running_ || rate_ == rate) return;
    start(clock, std::max(0.0, left_ - (clock.now() - since_) * rate_), rate);
  }
  void stop() { running_ = false; }
  bool running() const { return running_; }
  /// Returns true if the event is the end of this work: no other rate has replaced it.
  bool ends_with(const Event& event) const { return event.version == version_; }

 private:
  Event::Kind kind_;
  double left_ = 0, rate_ = 1, since_ = 0;
  bool running_ = false;
  std::uint32_t version_ = 0;
};

}  // namespace casync::one_rank
