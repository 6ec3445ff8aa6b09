// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/units.h"
#include "casync/simulator/event_queue.h"

namespace casync::engine {

/// Virtual time, and the events to come. Everything of a moment happens in waves: a wave's events are ordered by when
/// they were caused, then by the order in which the causing rank caused them, then by the nearest causing rank ahead
/// of this one. So ranks that are alike do the same at the same time, whatever their names.
class VirtualClock {
 public:
  /// `ranks`: those that may cause events.
  explicit VirtualClock(std::size_t ranks) : pushers_(ranks) {}

  double now() const { return now_; }
  /// Returns true if more happens at this moment.
  bool has_event_now() const { return !events_.empty() && events_.next_time() == now_; }
  /// Takes the next event of this moment.
  Event pop() {
    const Event event = events_.pop();
    wave_ = std::max(wave_, (event.order >> (kNumberBits + kDistanceBits)) + 1);
    return event;
  }
  /// Goes to the moment of the next event; false: there is none.
  bool go_on() {
    if (events_.empty()) return false;
    now_ = events_.next_time();
    return true;
  }
  /// Events that are pushed from here on come after those that were pushed so far.
  void begin_wave() { ++wave_; }

  /// Pushes an event for `rank`, caused by `pusher`, which is `distance` ranks earlier.
  void push(Event::Kind kind, double time, std::uint32_t subject, std::uint32_t version, Rank pusher, Rank rank,
            int distance = 0) {
    Pusher& own = pushers_[static_cast<std::size_t>(pusher)];
    if (own.wave != wave_) own = {wave_, 0};
    const std::uint64_t number = std::min(own.pushed++, (std::uint64_t{1} << kNumberBits) - 1);
    const std::uint64_t order = (wave_ << kNumberBits | number) << kDistanceBits | static_cast<std::uint64_t>(distance);
    events_.push({time, order, subject, version, rank, kind});
  }

 private:
  // Bits of an event's order, below its wave: its number there among its pusher's, and the distance.
  static constexpr int kNumberBits = 12, kDistanceBits = 16;

  /// The events of a rank in a wave.
  struct Pusher {
    std::uint64_t wave = 0, pushed = 0;
  };

  double now_ = 0;
  std::uint64_t wave_ = 1;
  EventQueue events_;
  std::vector<Pusher> pushers_;
};

}  // namespace casync::engine
