// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <chrono>

#include "base/clock.h"
#include "tools/casync/codec_figures/figures.h"
#include "tools/casync/codec_figures/rounds_trial.h"
#include "tools/casync/codec_figures/samples.h"
#include "tools/measure/bench_codec.h"

namespace casync::tools {
namespace {

constexpr Elements kErrorRows = 256, kBenchRows = 1024, kMatrices = 16;
constexpr Elements kColdElements = Elements{1} << 22;
constexpr std::uint32_t kErrorSteps = 16;

double relative_error(const std::vector<float>& given, const std::vector<float>& gradient, double steps) {
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const double value = gradient[i], difference = given[i] / steps - value;
    error += difference * difference;
    norm += value * value;
  }
  return error / norm;
}

/// One rank's turns of one step, over matrices that are in no cache when their turn comes.
class Bench {
 public:
  Bench(const compll::RoundsCodec& codec, Elements side, Elements matrices)
      : codec_(codec), side_(side), matrices_(matrices), shape_(codec.shape(side, side)) {
    const std::vector<float> gradient = gaussian_sample(side * side, 3);
    for (Elements i = 0; i < matrices; ++i) {
      gradients_.push_back(gradient);
      states_.emplace_back(shape_.states);
      after_.emplace_back(shape_.states);
      results_.emplace_back(gradient.size());
    }
    scratch_.resize(shape_.scratch);
    for (const Elements size : shape_.exchanged) exchanged_.emplace_back(size);
  }

  double pass_seconds() {
    const auto begin = Clock::now();
    for (Elements i = 0; i < matrices_; ++i) step(i);
    ++number_;
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }
  double bytes_per_element() const { return bytes_of_turns(shape_, side_, side_); }

 private:
  void step(Elements matrix) {
    std::vector<float*> exchanged;
    for (std::vector<float>& each : exchanged_) exchanged.push_back(each.data());
    for (std::uint32_t number = 0; number <= codec_.info().rounds; ++number) {
      compll::Turn turn;
      turn.number = number;
      turn.rows = turn.columns = side_;
      turn.gradient = gradients_[matrix].data();
      turn.exchanged = exchanged;
      turn.states_in = states_[matrix].data();
      turn.states_out = after_[matrix].data();
      turn.scratch = scratch_.data();
      turn.out = number == codec_.info().rounds ? results_[matrix].data() : nullptr;
      codec_.turn(turn, {7, 11, number_, 0});
    }
    states_[matrix].swap(after_[matrix]);
  }

  const compll::RoundsCodec& codec_;
  Elements side_, matrices_;
  compll::RoundsShape shape_;
  std::vector<std::vector<float>> gradients_, states_, after_, results_, exchanged_;
  std::vector<float> scratch_;
  std::uint32_t number_ = 0;
};

double best_pass(Bench& bench, double seconds) {
  bench.pass_seconds();  // begins with zeros
  double best = bench.pass_seconds(), spent = best;
  while (spent < seconds) {
    const double pass = bench.pass_seconds();
    best = std::min(best, pass);
    spent += pass;
  }
  return best;
}

Speeds speeds_of(const compll::RoundsCodec& codec, double seconds) {
  CodecBenchOptions options;
  options.partition = kBenchRows * kBenchRows;
  options.total = kMatrices * options.partition;
  options.seconds = seconds;
  Speeds speeds{"on one core", gigabytes_per_second(measure_copy(options), options.total), {}};
  Bench bench(codec, kBenchRows, kMatrices);
  const double best = best_pass(bench, seconds);
  const OperationTime step{best, bench.bytes_per_element()};
  const auto states = static_cast<double>(codec.shape(kBenchRows, kBenchRows).states);
  const double kept = 2.0 * sizeof(float) * states / static_cast<double>(kBenchRows * kBenchRows);
  speeds.operations.push_back({"step", step.bytes_per_element, kept, gigabytes_per_second(step, options.total)});
  return speeds;
}

}  // namespace

RoundsFigures measure_rounds(const compll::RoundsCodec& codec, double seconds) {
  RoundsFigures figures;
  figures.bits = codec.info().bits_per_element;
  const std::vector<float> gradient = gaussian_sample(kErrorRows * kErrorRows, 1);
  std::vector<float> given(gradient.size());
  RoundsGroup group(codec, 1, kErrorRows, kErrorRows);
  for (std::uint32_t step = 0; step < kErrorSteps; ++step) {
    group.step({gradient}, step);
    const std::vector<float> result = group.result(0);
    for (std::size_t i = 0; i < given.size(); ++i) given[i] += result[i];
    if (step == 0) figures.first = relative_error(given, gradient, 1);
  }
  figures.steps16 = relative_error(given, gradient, kErrorSteps);
  if (seconds > 0) figures.speeds = speeds_of(codec, seconds);
  return figures;
}

double turns_seconds(const compll::RoundsCodec& codec, Elements side, double seconds) {
  // Beyond any cache, and not more memory than that.
  const Elements matrices = std::clamp<Elements>(kColdElements / (side * side), 1, 1024);
  Bench bench(codec, side, matrices);
  return best_pass(bench, seconds) / static_cast<double>(matrices);
}

double bytes_of_turns(const compll::RoundsShape& shape, Elements rows, Elements columns) {
  const auto n = static_cast<double>(rows * columns);
  double floats = 2 * (n + static_cast<double>(shape.states));
  for (const Elements size : shape.exchanged) floats += 2 * static_cast<double>(size);
  return sizeof(float) * floats / n;
}

}  // namespace casync::tools
