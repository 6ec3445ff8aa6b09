// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/runtime/session/gradients.h"
#include "tests/runtime/session/plan_file.h"

/// Helpers of the tests of asynchronous steps.
namespace casync::test {

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

/// A session by a plan without its version.
inline Result<std::unique_ptr<runtime::Session>> open_by(RankContext& context, const std::string& plan) {
  const PlanFile file(plan);
  context.options.plan_file = file.path();
  return runtime::Session::open(context.options);
}

/// The steps of all ranks, under a lock: the order of events, and not time, says what a rank waited for.
class Steps {
 public:
  explicit Steps(int ranks) : submitted_(static_cast<std::size_t>(ranks), -1), ended_(submitted_) {}

  void submits(int rank, int step) { set(submitted_, rank, step); }
  void ends(int rank, int step) { set(ended_, rank, step); }
  int slowest() const {
    std::lock_guard lock(mutex_);
    return *std::min_element(submitted_.begin(), submitted_.end());
  }
  /// Ranks that have submitted this step or a later one.
  int there(int step) const {
    std::lock_guard lock(mutex_);
    return static_cast<int>(std::count_if(submitted_.begin(), submitted_.end(), [&](int s) { return s >= step; }));
  }
  int ended(int rank) const {
    std::lock_guard lock(mutex_);
    return ended_[static_cast<std::size_t>(rank)];
  }
  /// Waits until `rank` has ended `step`. Returns false if that takes half a minute.
  bool wait_for(int rank, int step) const {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(30),
                             [&] { return ended_[static_cast<std::size_t>(rank)] >= step; });
  }
  bool wait_for_all(int step) const {
    for (std::size_t rank = 0; rank < ended_.size(); ++rank) {
      if (!wait_for(static_cast<int>(rank), step)) return false;
    }
    return true;
  }

 private:
  void set(std::vector<int>& of, int rank, int step) {
    std::lock_guard lock(mutex_);
    of[static_cast<std::size_t>(rank)] = step;
    changed_.notify_all();
  }
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::vector<int> submitted_, ended_;
};

inline void nap(std::mt19937& random, int most_us) {
  std::this_thread::sleep_for(std::chrono::microseconds(static_cast<int>(random() % static_cast<unsigned>(most_us))));
}

inline bool same_bytes(const Floats& a, const Floats& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

inline void add(const Floats& values, double scale, Doubles& to) {
  for (std::size_t i = 0; i < values.size(); ++i) to[i] += scale * values[i];
}

/// NaN if one of them is.
inline double largest_difference(const Doubles& a, const Doubles& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(a[i] - b[i]);
    if (std::isnan(difference)) return difference;
    most = std::max(most, difference);
  }
  return most;
}

}  // namespace casync::test
