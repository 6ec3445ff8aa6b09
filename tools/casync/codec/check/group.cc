// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/codec/check/group.h"

#include <cmath>
#include <random>
#include <string>

#include "tools/casync/codec/check/suite.h"
#include "tools/casync/codec_figures/trial.h"

namespace casync::tools {
namespace {

using Floats = std::vector<float>;

constexpr Elements kElements = 512;
constexpr std::uint32_t kFewSteps = 10, kFirstSteps = 100, kShortSteps = 400, kLongSteps = 3200;
constexpr double kGrowth = 2.8;  // between 2, of an error of one sign, and 4, of one that stays in all later results

/// The steps of one group, and how far off the sum of its results is.
class Watch {
 public:
  Watch(const compll::Codec& codec, std::size_t ranks)
      : group_(codec, ranks, kElements), ranks_(ranks), gradients_(ranks, Floats(kElements)), off_(kElements) {}

  /// Runs until so many steps are done. In words where ranks differ, else "".
  std::string run_until(std::uint32_t steps) {
    for (; step_ < steps; ++step_) {
      draw();
      group_.step(gradients_, step_);
      for (std::size_t rank = 1; rank < ranks_; ++rank) {
        const std::string what = text_of(ranks_, " ranks, step ", step_ + 1, ": rank ", rank, "'s element");
        const std::string found = difference(what, group_.result(rank), group_.result(0));
        if (!found.empty()) return found;
      }
      add_up();
    }
    return "";
  }

  /// ||sum of results - sum of means||^2 / sum of ||mean||^2.
  double share() const {
    double sum = 0;
    for (const double each : off_) sum += each * each;
    return sum / norm_;
  }

 private:
  void draw() {
    for (Floats& gradient : gradients_) {
      for (float& each : gradient) each = normal_(random_);
    }
  }
  void add_up() {
    for (Elements i = 0; i < kElements; ++i) {
      double mean = 0;
      for (const Floats& gradient : gradients_) mean += static_cast<double>(gradient[i]) / static_cast<double>(ranks_);
      norm_ += mean * mean;
      off_[i] += group_.result(0)[i] - mean;
    }
  }

  CodecGroup group_;
  std::size_t ranks_;
  std::vector<Floats> gradients_;
  std::vector<double> off_;
  std::mt19937 random_{17};
  std::normal_distribution<float> normal_;
  double norm_ = 0;
  std::uint32_t step_ = 0;
};

std::string broken(const compll::Codec& codec, std::size_t ranks, std::uint32_t most) {
  Watch watch(codec, ranks);
  if (codec.info().states == 0) return watch.run_until(kFewSteps);
  double before = 0;
  for (std::uint32_t steps = kFirstSteps; steps <= most; steps *= 2) {
    std::string found = watch.run_until(steps);
    if (!found.empty()) return found;
    const double share = watch.share();
    const bool grows = !(share <= kGrowth * before) && !(share <= 2);
    if (steps != kFirstSteps && !grows) return "";
    if (steps * 2 > most || !std::isfinite(share)) {
      return text_of(ranks, " ranks: after ", steps, " steps the results are off by ", share,
                     " of ||mean||^2 a step together, after half as many by ", before,
                     ": an error stays in all later results");
    }
    before = share;
  }
  return "";
}

}  // namespace

CodecGroup::CodecGroup(const compll::Codec& codec, std::size_t ranks, Elements n)
    : codec_(codec),
      n_(n),
      of_encode_(ranks, states_from(codec, n)),
      of_result_(ranks, states_from(codec, n)),
      results_(ranks, Floats(n)),
      of_merge_(states_from(codec, n)) {}

void CodecGroup::step(const std::vector<Floats>& gradients, std::uint32_t number) {
  const bool shared = codec_.info().shared_numbers;
  const auto options = [&](std::uint64_t who) { return TrialOptions{.seed = shared ? 7 : 7 + who, .step = number}; };
  std::vector<Trial> codes;
  std::vector<ConstView> views;
  for (std::size_t rank = 0; rank < gradients.size(); ++rank) {
    codes.push_back(encode(codec_, gradients[rank], of_encode_[rank], options(rank + 1)));
    of_encode_[rank] = codes.back().states;
  }
  for (const Trial& code : codes) views.push_back(code.view());
  const float scale = 1.0f / static_cast<float>(gradients.size());
  Trial merged = merge(codec_, views, n_, scale, of_merge_, options(100));
  of_merge_ = std::move(merged.states);
  for (std::size_t rank = 0; rank < gradients.size(); ++rank) {
    results_[rank] = decode(codec_, merged, n_);
    if (!codec_.info().has_result) continue;
    ResultTrial made = make_result(codec_, results_[rank], of_result_[rank], {.seed = 7, .step = number});
    results_[rank] = std::move(made.gradient);
    of_result_[rank] = std::move(made.states);
  }
}

Verdict check_steps(const compll::Codec& codec, Length length) {
  Verdict verdict{"steps of 2 and 3 ranks: the same results on all, and no error that grows", Verdict::State::kHolds,
                  ""};
  const std::uint32_t most = length == Length::kLong ? kLongSteps : kShortSteps;
  for (const std::size_t ranks : {2, 3}) {
    verdict.detail = broken(codec, ranks, most);
    if (verdict.detail.empty()) continue;
    verdict.state = Verdict::State::kFails;
    return verdict;
  }
  return verdict;
}

}  // namespace casync::tools
