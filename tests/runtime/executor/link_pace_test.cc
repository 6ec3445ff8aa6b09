// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/link_pace.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

/// A link in virtual time that carries one message after the other and reports each when it is there.
class Link {
 public:
  Link(double bytes_per_second, Seconds delay) : rate_(bytes_per_second), delay_(delay) {}

  void set_rate(double bytes_per_second) { rate_ = bytes_per_second; }
  Clock::time_point now() const { return now_; }
  LinkPace& pace() { return pace_; }
  bool is_open() const { return pace_.is_open(now_); }

  void hand_over(Bytes bytes) {
    pace_.handed_over(bytes, now_);
    free_ = std::max(free_, now_) + time_of(bytes);
    reports_.push_back({bytes, free_ + as_duration(delay_)});
  }

  /// To the next report, or to when the pace opens.
  void go_on() {
    if (reports_.empty()) {
      now_ += std::chrono::milliseconds(20);  // until the next step
      return;
    }
    now_ = reports_.front().at;
    pace_.sent(reports_.front().bytes, now_);
    reports_.pop_front();
  }

  /// Hands over `count` messages as fast as the pace allows, and returns how long it took until all were there.
  Seconds carry(int count, Bytes bytes) {
    const Clock::time_point from = now_;
    for (int i = 0; i < count; ++i) {
      while (!is_open()) {
        if (!reports_.empty() && reports_.front().at <= pace_.opens_at()) {
          go_on();
        } else {
          now_ = pace_.opens_at();
        }
      }
      hand_over(bytes);
    }
    while (!reports_.empty()) go_on();
    const Seconds took = now_ - from;
    go_on();
    return took;
  }

 private:
  struct Report {
    Bytes bytes;
    Clock::time_point at;
  };
  static Clock::duration as_duration(Seconds seconds) { return std::chrono::duration_cast<Clock::duration>(seconds); }
  Clock::duration time_of(Bytes bytes) const { return as_duration(Seconds(static_cast<double>(bytes) / rate_)); }

  double rate_;
  Seconds delay_;
  LinkPace pace_;
  Clock::time_point now_{std::chrono::hours(1)};
  Clock::time_point free_{};
  std::deque<Report> reports_;
};

/// Messages of that size that are handed over until the first is reported.
int count_in_window(Link& link, Bytes bytes) {
  int count = 0;
  for (; link.is_open(); ++count) link.hand_over(bytes);
  for (int i = 0; i < count; ++i) link.go_on();
  link.go_on();
  return count;
}

}  // namespace

TEST_CASE("link pace: a link that has shown nothing is taken for a fast one") {
  Link link(1e9, Seconds(1e-4));
  CHECK(link.pace().is_fast());
  CHECK(count_in_window(link, 1_MiB) == 4);
  CHECK(count_in_window(link, 5_MiB) == 1);
}

TEST_CASE("link pace: on a slow link a large message goes alone, small ones together") {
  Link link(118e6, Seconds(1e-4));  // 1 Gbit/s
  link.carry(16, 1_MiB);
  CHECK_FALSE(link.pace().is_fast());
  CHECK(count_in_window(link, 1_MiB) == 1);
  CHECK(count_in_window(link, 128_KiB) == 1);
  CHECK(count_in_window(link, 16_KiB) > 4);
}

TEST_CASE("link pace: a link is kept busy") {
  const double rate = GENERATE(12.5e6, 118e6, 590e6, 1.2e9, 5e9);
  const Seconds delay(GENERATE(2e-5, 1e-4, 1e-3, 4e-3, 1e-2));
  const Bytes bytes = GENERATE(128_KiB, 1_MiB, 3_MiB);
  if (rate * delay.count() > double(4_MiB)) return;  // more under way than any window
  CAPTURE(rate, delay.count(), bytes);
  Link link(rate, delay);
  const int count = static_cast<int>(64_MiB / bytes);
  const double least = count * static_cast<double>(bytes) / rate + delay.count();
  for (int step = 0; step < 20; ++step) {
    const double took = link.carry(count, bytes).count();
    REQUIRE(took < 1.1 * least);
  }
}

TEST_CASE("link pace: it follows a link that becomes slower, and one that becomes faster") {
  Link link(5e9, Seconds(1e-4));
  const auto steps = [&] {
    for (int step = 0; step < 10; ++step) link.carry(64, 1_MiB);
  };
  steps();
  CHECK(count_in_window(link, 1_MiB) == 4);
  link.set_rate(118e6);
  steps();
  CHECK(count_in_window(link, 1_MiB) == 1);
  link.set_rate(5e9);
  steps();
  CHECK(count_in_window(link, 1_MiB) == 4);
}

TEST_CASE("link pace: a peer that waits for the last message gets it, at no less than a third of the link's rate") {
  const double rate = GENERATE(118e6, 5e9);
  Link link(rate, Seconds(1e-4));
  for (int step = 0; step < 10; ++step) link.carry(16, 1_MiB);
  LinkPace pace = link.pace();
  const Clock::time_point from = link.now();
  Clock::time_point now = from;
  for (int i = 0; i < 100; ++i) {
    now = std::max(now, pace.opens_at());
    pace.handed_over(1_MiB, now);
  }
  const double least = 100 * double(1_MiB) / rate;
  CHECK(Seconds(now - from).count() < 100 * LinkPace::kStall.count() + 3 * least);
}

TEST_CASE("link pace: when all links together have much under way, an idle one may still begin a message") {
  LinkPace pace;
  const Clock::time_point now = Clock::now();
  CHECK(pace.is_open(now, true));
  pace.handed_over(1_KiB, now);
  CHECK(pace.is_open(now, false));
  CHECK_FALSE(pace.is_open(now, true));
  // Nothing has been reported for long: the peer may be waiting for what comes next.
  CHECK(pace.is_open(now + std::chrono::seconds(1), true));
  pace.sent(1_KiB, now);
  CHECK(pace.is_open(now, true));
}
