// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

#include "base/clock.h"
#include "base/units.h"

namespace casync::runtime {

/// When the next message may be handed over to a link: what is under way keeps the link busy, and what becomes ready
/// later but is needed sooner can still overtake the rest.
///
/// A fast link takes a window of kWindow. On a slow one that would be most of a step, so there it is what the link
/// carries in kAhead and its own delay. A message larger than that goes alone, until the link should have carried all
/// but a window of it. Rate and delay follow from what has been reported as sent. The rate is the median of the last
/// measurements: a peer that takes messages late makes the link look slow, buffers that fill make it look fast. The
/// delay is the least of them, as in BBR (Cardwell et al., ACM Queue 14(5), 2016).
///
/// The limit must not become an order between ranks. When nothing has been reported for longer than the last message
/// should have taken (the peer may be waiting for one that is still to come), the next is handed over.
class LinkPace {
 public:
  static constexpr Bytes kWindow = 4_MiB;
  /// Bytes per second from which on a link is fast; it is taken for one until it has been measured.
  static constexpr double kFast = 600e6;
  static constexpr Seconds kAhead{0.001};
  static constexpr Seconds kStall{0.002};

  bool is_open(Clock::time_point now, bool crowded = false) const { return now >= opens_at(crowded); }
  /// When the next may be handed over if nothing is reported until then; long ago while there is room. `crowded`: all
  /// links together have as much under way as they may, so this one has room only while it is idle.
  Clock::time_point opens_at(bool crowded = false) const;

  /// It carries at least kFast, or has not been measured.
  bool is_fast() const { return rates_.empty() || rate_ >= kFast; }

  /// Everything handed over has been reported.
  bool idle() const { return messages_ == 0; }

  void handed_over(Bytes bytes, Clock::time_point now);
  /// One of those has been reported as sent.
  void sent(Bytes bytes, Clock::time_point now);

 private:
  /// The last few values.
  class Recent {
   public:
    void add(double value) { values_[count_++ % values_.size()] = value; }
    bool empty() const { return count_ == 0; }
    double least() const;
    double median() const;  // the lower one of two

   private:
    std::size_t size() const { return count_ < values_.size() ? count_ : values_.size(); }
    std::array<double, 8> values_{};
    std::size_t count_ = 0;
  };

  Seconds time_of(Bytes bytes) const { return Seconds(static_cast<double>(bytes) / rate_); }
  Bytes window() const;
  void measure(Clock::time_point now);

  std::size_t messages_ = 0;  // under way
  Bytes bytes_ = 0;
  Bytes last_ = 0;             // of the message handed over last
  Clock::time_point moved_{};  // when something was handed over or reported
  // The measurement under way: since the link was idle, or since the previous one.
  Clock::time_point since_{};
  Bytes first_ = 0;  // the first message of it, 0: that has been reported
  Bytes measured_ = 0;
  Recent rates_, delays_;
  double rate_ = kFast;  // their median
};

}  // namespace casync::runtime
