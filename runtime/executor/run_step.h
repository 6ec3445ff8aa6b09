// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"
#include "base/units.h"
#include "base/view.h"

namespace casync::runtime {

/// The step of a run that is under way, and how many it has completed. A cache line has this and the run's BundleSeat.
///
/// Threads: the progress thread's, unless a comment says otherwise. A caller reads it between steps.
class RunStep {
 public:
  RunStep() = default;
  RunStep(const RunStep&) = delete;
  RunStep& operator=(const RunStep&) = delete;

  /// A step over `data`, in the host's memory, begins.
  void begin(std::uint32_t number, View data, Clock::time_point now) {
    data_ = data;
    begun_.store(now.time_since_epoch().count(), std::memory_order_relaxed);
    number_ = number;
    is_under_way_ = is_finite_ = keeps_ = true;
  }
  /// The step is complete.
  void end(Clock::time_point now) {
    is_under_way_ = false;
    ++steps_;
    total_s_ += Seconds(now - begun()).count();
    completed_.store(number_ + 1, std::memory_order_release);
  }
  /// A bundle's step is over, which completes steps of its members, or none.
  void stop() { is_under_way_ = false; }
  /// Between steps: the next one is `next`.
  void go_to(std::uint32_t next) { completed_.store(next); }
  /// An owner's side, which is never under way, works on this step of some rank.
  void show(std::uint32_t number) { number_ = number; }

  std::uint32_t number() const { return number_; }
  bool is_under_way() const { return is_under_way_; }
  bool is_under_way(std::uint32_t number) const { return is_under_way_ && number_ == number; }
  View data() const { return data_; }
  /// The beginning of the last step that has begun. Any thread.
  Clock::time_point begun() const { return Clock::time_point(Clock::duration(begun_.load(std::memory_order_relaxed))); }

  /// A part of the result is finite, or not.
  void note_finite(bool finite) { is_finite_ = is_finite_ && finite; }
  bool is_finite() const { return is_finite_; }
  /// The codecs write no new state.
  void keep_nothing() { keeps_ = false; }
  bool keeps() const { return keeps_; }

  /// 1 + the last step whose result is complete; 0: none. Any thread.
  std::uint32_t completed() const { return completed_.load(std::memory_order_acquire); }
  bool has_completed(std::uint32_t number) const { return completed() > number; }
  // For reports.
  std::uint32_t steps() const { return steps_; }
  double total_s() const { return total_s_; }

 private:
  View data_;
  std::atomic<Clock::rep> begun_{0};
  double total_s_ = 0;
  std::uint32_t number_ = 0;
  std::atomic<std::uint32_t> completed_{0};
  std::uint32_t steps_ = 0;
  bool is_under_way_ = false;
  bool is_finite_ = true;
  bool keeps_ = true;
};

/// The time for which the program stood still for a gradient. Any thread.
class ExposedTime {
 public:
  void add(Seconds more) { seconds_.fetch_add(more.count()); }
  double seconds() const { return seconds_.load(); }

 private:
  std::atomic<double> seconds_{0};
};

}  // namespace casync::runtime
