// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/link_pace.h"

#include <algorithm>

namespace casync::runtime {
namespace {

// Smaller messages may be reported when they have merely been copied.
constexpr Bytes kMeasured = 128_KiB;
// A shorter time measures the progress thread's rounds, and the bytes that buffers take at once, not the link's rate.
constexpr Seconds kShortest{0.004};
// After a longer one the link was idle.
constexpr Seconds kPause{0.0002};
// A link that is never idle is measured, too.
constexpr Seconds kLongest{0.1};

}  // namespace

double LinkPace::Recent::least() const {
  return *std::min_element(values_.begin(), values_.begin() + static_cast<std::ptrdiff_t>(size()));
}

double LinkPace::Recent::median() const {
  std::array<double, 8> values = values_;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.begin() + static_cast<std::ptrdiff_t>(size()));
  return *middle;
}

Bytes LinkPace::window() const {
  if (is_fast()) return kWindow;
  const double seconds = kAhead.count() + (delays_.empty() ? 0.0 : delays_.least());
  return std::min(kWindow, static_cast<Bytes>(rate_ * seconds));
}

Clock::time_point LinkPace::opens_at(bool crowded) const {
  if (messages_ == 0 || (!crowded && bytes_ < window())) return {};
  Seconds wait = kStall;
  if (!is_fast()) {
    wait += 2 * time_of(last_);
    // By then the link has carried all but a window. A report of it takes the link's delay, in which it would be idle.
    if (!crowded) wait = std::min(wait, time_of(bytes_ - window()));
  }
  return moved_ + std::chrono::duration_cast<Clock::duration>(wait);
}

void LinkPace::handed_over(Bytes bytes, Clock::time_point now) {
  if (messages_ == 0 && now - moved_ > kPause) {
    since_ = now;
    first_ = bytes;
    measured_ = 0;
  }
  ++messages_;
  bytes_ += bytes;
  last_ = bytes;
  moved_ = now;
}

void LinkPace::sent(Bytes bytes, Clock::time_point now) {
  --messages_;
  bytes_ -= bytes;
  moved_ = now;
  if (bytes >= kMeasured) {
    if (bytes == first_) delays_.add(std::max(0.0, Seconds(now - since_ - time_of(bytes)).count()));
    measured_ += bytes;
  }
  if (bytes == first_) first_ = 0;
  measure(now);
}

void LinkPace::measure(Clock::time_point now) {
  const Seconds took = now - since_;
  if (took < (messages_ == 0 ? kShortest : kLongest)) return;
  if (measured_ != 0) {
    rates_.add(static_cast<double>(measured_) / took.count());
    rate_ = rates_.median();
  }
  since_ = now;
  first_ = 0;
  measured_ = 0;
}

}  // namespace casync::runtime
