// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace casync::runtime {

/// The scale of a gradient's last merge: what the contributions of the ranks are divided by. Fixed once its run is
/// built.
class ResultScale {
 public:
  /// Only so many ranks contribute; the others are dedicated servers. 0: all.
  void count(int contributors) { contributors_ = contributors; }
  int contributors() const { return contributors_; }
  /// The merge averages so many contributions, whatever the session does.
  void average(int contributions) { mean_of_ = contributions; }
  /// `session`: 1 of a sum, and 1 / ranks of a mean.
  float scale_or(float session) const {
    if (mean_of_ > 0) return 1.0f / static_cast<float>(mean_of_);
    return contributors_ > 0 && session != 1.0f ? 1.0f / static_cast<float>(contributors_) : session;
  }

 private:
  int mean_of_ = 0;
  int contributors_ = 0;
};

}  // namespace casync::runtime
