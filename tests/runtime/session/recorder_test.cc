// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/recorder.h"

#include <catch2/catch.hpp>
#include <string>

namespace casync::runtime {
namespace {

/// A clock that a test sets, in milliseconds.
Clock::time_point at(double ms) {
  return Clock::time_point{} +
         std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(5 + ms * 1e-3));
}

std::vector<GradientSpec> specs(std::size_t count) {
  std::vector<GradientSpec> all;
  for (std::size_t i = 0; i < count; ++i) {
    all.push_back({"g" + std::to_string(i), DType::kFloat32, {static_cast<std::int64_t>(i + 1)}, 0});
  }
  return all;
}

TEST_CASE("nothing is recorded until a step has ended") {
  Recorder recorder(at(0));
  recorder.submitted(0, at(1));
  CHECK_FALSE(recorder.training(specs(1)));
}

TEST_CASE("moments are those of the program's own time: its waits do not count") {
  Recorder recorder(at(0));
  double t = 0;
  for (int step = 0; step < 3; ++step) {
    recorder.submitted(1, at(t + 10));
    recorder.submitted(0, at(t + 30));
    recorder.waits(0, at(t + 30));  // needed at once, stands still for 100
    recorder.goes_on(at(t + 130));
    recorder.waits(1, at(t + 135));  // 5 after that
    recorder.goes_on(at(t + 136));
    recorder.computed(at(t + 146));  // and computes for another 10
    recorder.step_ended(at(t + 150));
    t += 150;
  }
  const std::optional<Training> training = recorder.training(specs(2));
  REQUIRE(training);
  CHECK(training->backward_s == Approx(0.030));
  CHECK(training->forward_s == Approx(0.015));
  REQUIRE(training->gradients.size() == 2);
  CHECK(training->gradients[0].spec.name == "g0");
  CHECK(training->gradients[0].ready_s == Approx(0.030));
  CHECK(training->gradients[0].need_s == Approx(0).margin(1e-9));
  CHECK(training->gradients[1].ready_s == Approx(0.010));
  CHECK(training->gradients[1].need_s == Approx(0.005));
}

TEST_CASE("a gradient is needed when it is waited for or taken, for the first time, and at the end at the latest") {
  Recorder recorder(at(0));
  for (std::size_t i = 0; i < 3; ++i) recorder.submitted(i, at(10));
  recorder.needs(0, at(13));
  recorder.needs(0, at(14));
  recorder.needs(5, at(14));  // not of this step
  recorder.waits(1, at(15));
  recorder.goes_on(at(15));
  recorder.computed(at(20));
  recorder.step_ended(at(20));
  const std::optional<Training> training = recorder.training(specs(6));
  REQUIRE(training);
  REQUIRE(training->gradients.size() == 3);
  CHECK(training->gradients[0].need_s == Approx(0.003));
  CHECK(training->gradients[1].need_s == Approx(0.005));
  CHECK(training->gradients[2].need_s == Approx(0.010));
}

TEST_CASE("a gradient whose call was refused and made again is submitted once, by the last call") {
  Recorder recorder(at(0));
  double t = 0;
  for (int step = 0; step < 3; ++step) {
    for (std::size_t i = 0; i < 2; ++i) recorder.submitted(i, at(t + 10));
    if (step == 0) recorder.submitted(1, at(t + 12));
    recorder.computed(at(t + 20));
    recorder.step_ended(at(t + 20));
    t += 20;
  }
  CHECK(recorder.steps() == 3);
  const std::optional<Training> training = recorder.training(specs(2));
  REQUIRE(training);
  CHECK(training->backward_s == Approx(0.010));
}

TEST_CASE("a helper may end the step while the program still stands") {
  Recorder recorder(at(0));
  recorder.submitted(0, at(20));
  recorder.waits(0, at(20));
  recorder.computed(at(90));  // by the helper
  recorder.step_ended(at(90));
  recorder.goes_on(at(91));
  recorder.submitted(0, at(111));  // 20 after it went on
  recorder.waits(0, at(111));
  recorder.goes_on(at(120));
  recorder.computed(at(120));
  recorder.step_ended(at(120));
  const std::optional<Training> training = recorder.training(specs(1));
  REQUIRE(training);
  CHECK(training->backward_s == Approx(0.020));
  CHECK(training->forward_s == Approx(0).margin(1e-9));
}

TEST_CASE("only steps with the most gradients count, whenever others were declared") {
  Recorder recorder(at(0));
  const auto step = [&](double begin, std::initializer_list<std::size_t> gradients, double each) {
    double now = begin;
    for (const std::size_t gradient : gradients) recorder.submitted(gradient, at(now += each));
    recorder.computed(at(now));
    recorder.step_ended(at(begin + 100));
  };
  step(0, {2}, 50);
  step(100, {0, 1}, 10);
  step(200, {2}, 50);
  step(300, {0, 1}, 10);
  CHECK(recorder.steps() == 2);
  const std::optional<Training> training = recorder.training(specs(3));
  REQUIRE(training);
  CHECK(training->backward_s == Approx(0.020));
  REQUIRE(training->gradients.size() == 2);
  CHECK(training->gradients[1].spec.name == "g1");
}

TEST_CASE("the last steps count, by their median") {
  Recorder recorder(at(0));
  double t = 0;
  for (int step = 0; step < 100; ++step) {
    const double ready = step < 60 ? 90 : step % 10 == 0 ? 80 : 7;
    recorder.submitted(0, at(t + ready));
    recorder.computed(at(t + ready));
    recorder.step_ended(at(t += 100));
  }
  CHECK(recorder.training(specs(1))->backward_s == Approx(0.007));
}

TEST_CASE("a pace is the median of whole steps and the distance of their quartiles, without waiting") {
  Recorder recorder(at(0));
  CHECK_FALSE(recorder.pace());
  double t = 0;
  const auto step = [&](double ready, double after) {
    recorder.submitted(0, at(t + ready));
    recorder.waits(0, at(t + ready));
    recorder.goes_on(at(t + ready + 500));
    recorder.computed(at(t + ready + 500 + after));
    recorder.step_ended(at(t += 1000));
  };
  step(10, 5);
  REQUIRE(recorder.pace());
  CHECK(recorder.pace()->median_s == Approx(0.015));
  CHECK(recorder.pace()->scatter_s == Approx(0).margin(1e-9));
  CHECK(recorder.pace()->steps == 1);
  for (int i = 0; i < 50; ++i) step(90, 90);  // of which none is kept
  for (int i = 0; i < 31; ++i) step(10, 10 + i);
  CHECK(recorder.pace()->median_s == Approx(0.035));
  CHECK(recorder.pace()->scatter_s == Approx(0.016));
  CHECK(recorder.pace()->steps == 31);
}

}  // namespace
}  // namespace casync::runtime
