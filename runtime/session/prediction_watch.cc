// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/prediction_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/median.h"

namespace casync::runtime {
namespace {

struct Term {
  const char* name;
  double measured_s, predicted_s;
  double off() const { return std::abs(measured_s - predicted_s); }
};

}  // namespace

std::optional<std::string> PredictionWatch::step_ended(std::uint32_t step, double seconds, double training_s,
                                                       const Spent& spent) {
  if (over_) return std::nullopt;
  if (seen_++ < kUnsettled || step < first_step_) {
    begin_ = spent;
    return std::nullopt;
  }
  sum_s_ += seconds;
  training_sum_s_ += training_s;
  if (++summed_ < every_) return std::nullopt;
  seconds_.push_back(std::exchange(sum_s_, 0) / every_);
  training_s_.push_back(std::exchange(training_sum_s_, 0) / every_);
  summed_ = 0;
  if (seconds_.size() < kSteps) return std::nullopt;
  over_ = true;
  const double took = median(seconds_), off = took - prediction_.step_s;
  if (std::abs(off) <= kFar * prediction_.step_s) return std::nullopt;
  const auto each = [&](double Spent::*what) {
    return (spent.*what - begin_.*what) / static_cast<double>(kSteps * every_);
  };
  const Term terms[] = {{"training", median(training_s_), prediction_.training_s},
                        {"encode", each(&Spent::encode_s), prediction_.encode_s},
                        {"merge", each(&Spent::merge_s), prediction_.merge_s},
                        {"decode", each(&Spent::decode_s), prediction_.decode_s}};
  const Term& worst = *std::max_element(std::begin(terms), std::end(terms),
                                        [](const Term& a, const Term& b) { return a.off() < b.off(); });
  const std::string blame = 2 * worst.off() < std::abs(off)
                                ? "neither training nor codecs explain it: the network does"
                                : fmt::format("{} takes {:.3f} ms, predicted were {:.3f}", worst.name,
                                              1e3 * worst.measured_s, 1e3 * worst.predicted_s);
  return fmt::format(
      "a step takes {:.3f} ms, the plan's prediction was {:.3f} ({:+.0f} %): {}; CASYNC_TRACE and "
      "CASYNC_RECORD of a run let `casync plan --from-run` plan anew",
      1e3 * took, 1e3 * prediction_.step_s, 100 * off / prediction_.step_s, blame);
}

}  // namespace casync::runtime
