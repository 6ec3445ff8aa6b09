// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "casync/model/plan.h"

namespace casync::runtime {

/// Codec time of a run so far, in seconds; only differences count.
struct Spent {
  double encode_s = 0, merge_s = 0, decode_s = 0;
};

/// Compares steps with what the plan's planner predicted, and says once when they differ by more than a fifth. Calls
/// come one at a time.
class PredictionWatch {
 public:
  /// `first_step`: earlier ones are not what was predicted (warm-up). `every`: of so many steps one exchanges, and
  /// the prediction is of their mean.
  PredictionWatch(const Prediction& prediction, std::uint32_t first_step, std::uint32_t every = 1)
      : prediction_(prediction), first_step_(first_step), every_(every), over_(!(prediction.step_s > 0)) {
    seconds_.reserve(kSteps);
    training_s_.reserve(kSteps);
  }

  /// Takes after each step its seconds since the end of the last step, those of them that the program computed, and the
  /// codec time so far. Returns the sentence, after kSteps (times `every`) steps, when there is one to say.
  std::optional<std::string> step_ended(std::uint32_t step, double seconds, double training_s, const Spent& spent);

  /// Returns true if it needs no more steps.
  bool over() const { return over_; }

 private:
  static constexpr int kUnsettled = 3;  ///< the first steps of a session open connections and fill caches
  static constexpr std::size_t kSteps = 50;
  static constexpr double kFar = 0.2;

  const Prediction prediction_;
  const std::uint32_t first_step_, every_;
  int seen_ = 0;
  std::vector<double> seconds_, training_s_;  ///< means of `every_` steps each
  double sum_s_ = 0, training_sum_s_ = 0;     ///< of the steps since the last mean
  std::uint32_t summed_ = 0;
  Spent begin_;
  bool over_;
};

}  // namespace casync::runtime
