// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cstdio>

#include "tools/casync/check/rounds.h"
#include "tools/casync/check/rounds_trial.h"
#include "tools/casync/check/samples.h"

namespace casync::tools {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Elements kErrorRows = 256, kBenchRows = 1024, kMatrices = 16;
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
  explicit Bench(const compll::RoundsCodec& codec) : codec_(codec), shape_(codec.shape(kBenchRows, kBenchRows)) {
    const std::vector<float> gradient = gaussian_sample(kBenchRows * kBenchRows, 3);
    for (Elements i = 0; i < kMatrices; ++i) {
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
    for (Elements i = 0; i < kMatrices; ++i) step(i);
    ++number_;
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }

  /// The gradient and the states are read, the result and the states are written; what is exchanged is written by one
  /// turn and read by the next.
  double bytes_per_element() const {
    double floats = 2.0 * static_cast<double>(kBenchRows * kBenchRows + shape_.states);
    for (const Elements size : shape_.exchanged) floats += 2.0 * static_cast<double>(size);
    return sizeof(float) * floats / (kBenchRows * kBenchRows);
  }

 private:
  void step(Elements matrix) {
    std::vector<float*> exchanged;
    for (std::vector<float>& each : exchanged_) exchanged.push_back(each.data());
    for (std::uint32_t number = 0; number <= codec_.info().rounds; ++number) {
      compll::Turn turn;
      turn.number = number;
      turn.rows = turn.columns = kBenchRows;
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
  compll::RoundsShape shape_;
  std::vector<std::vector<float>> gradients_, states_, after_, results_, exchanged_;
  std::vector<float> scratch_;
  std::uint32_t number_ = 0;
};

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
  if (seconds <= 0) return figures;
  CodecBenchOptions options;
  options.partition = kBenchRows * kBenchRows;
  options.total = figures.total = kMatrices * options.partition;
  options.seconds = seconds;
  figures.copy_gb_s = gigabytes_per_second(measure_copy(options), options.total);
  Bench bench(codec);
  bench.pass_seconds();
  double best = bench.pass_seconds(), spent = best;
  while (spent < seconds) {
    const double pass = bench.pass_seconds();
    best = std::min(best, pass);
    spent += pass;
  }
  figures.turns = OperationTime{best, bench.bytes_per_element()};
  return figures;
}

void print_rounds_check(const compll::CodecInfo& info, const Making& making, const std::vector<Verdict>& verdicts,
                        const RoundsFigures& figures) {
  print_verdicts(info, making, verdicts);
  std::printf("\n  sent   %.4g bits an element of 1024 x 1024, %.4g times less than float32, in %u exchanges\n",
              figures.bits, 32 / figures.bits, info.rounds);
  std::printf("  error  %.3g of Gaussian gradients of 256 x 256, %.3g of the sum of 16 steps\n", figures.first,
              figures.steps16);
  if (!figures.turns) return;
  const double rate = gigabytes_per_second(*figures.turns, figures.total), bytes = figures.turns->bytes_per_element;
  std::printf("\n  %-12s %12s %14s %8s %9s\n", "on one core", "bytes/el", "as a copy of", "GB/s", "of copy");
  std::printf("  %-12s %12.2f %14.2f %8.2f %8.0f%%\n", "a step", bytes, bytes * figures.copy_gb_s / rate, rate,
              100 * rate / figures.copy_gb_s);
  std::printf("  bytes/el: what has to be read and written; as a copy of: what a copy moves meanwhile, at %.1f GB/s\n",
              figures.copy_gb_s);
}

nlohmann::ordered_json rounds_check_json(const compll::CodecInfo& info, const Making& making,
                                         const std::vector<Verdict>& verdicts, const RoundsFigures& figures) {
  nlohmann::ordered_json json = verdicts_json(info, making, verdicts);
  json["bits_per_element"] = figures.bits;
  json["ratio"] = 32 / figures.bits;
  json["error"] = {{"first_step", figures.first}, {"sixteen_steps", figures.steps16}};
  if (!figures.turns) return json;
  const double rate = gigabytes_per_second(*figures.turns, figures.total);
  json["copy_gb_s"] = figures.copy_gb_s;
  json["speed"]["step"] = {
      {"bytes_per_element", figures.turns->bytes_per_element}, {"gb_s", rate}, {"of_copy", rate / figures.copy_gb_s}};
  return json;
}

}  // namespace casync::tools
