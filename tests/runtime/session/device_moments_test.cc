// SPDX-License-Identifier: Apache-2.0
//
// Moments of a program on a GPU, which the emulated driver is, by a time that the tests set.
#include "runtime/session/device_moments.h"

#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tests/compll/cuda/emulated/driver.h"
#include "tests/runtime/session/driver_time.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::test;     // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

namespace emulated = compll::emulated;

/// A program that has ended a step, so that the next ones are recorded.
struct Recorded {
  Recorded() : device(std::move(open_gpu("cuda:0")).value()), moments(*device) {
    submit({0, 1});
    end();
  }
  /// In one call.
  void submit(const std::vector<std::uint32_t>& gradients) {
    std::vector<Submission> all;
    for (const std::uint32_t each : gradients) all.push_back({GradientId(each), {}, {}, program.stream()});
    moments.submitted(all);
  }
  void end() {
    moments.computed();
    moments.step_ended();
  }
  /// Nothing: no step is recorded.
  std::optional<Training> training() {
    time.passes(program, 0);
    std::vector<GradientSpec> specs;
    for (const char* name : {"g0", "g1"}) specs.push_back({name, DType::kFloat32, {1}, 0});
    return moments.recorder().training(specs);
  }

  DriverTime time;
  std::unique_ptr<Device> device;
  Program program;
  DeviceMoments moments;
};

}  // namespace

TEST_CASE("device moments: they are the device's, although the program is ahead, without the time it stands still") {
  Recorded on;
  for (int step = 0; step < 3; ++step) {
    emulated::hold_streams();
    on.time.computes(on.program, 10);
    on.submit({1});
    on.time.computes(on.program, 20);
    on.submit({0});
    on.moments.waits(0);
    emulated::release_streams();
    on.time.passes(on.program, 100);  // its reduction, while the stream has nothing to do
    on.moments.goes_on();
    on.time.computes(on.program, 5);
    on.moments.waits(1);
    on.moments.goes_on();  // the stream has not come so far
    on.time.computes(on.program, 10);
    on.end();
  }
  const std::optional<Training> training = on.training();
  REQUIRE(training);
  CHECK(on.moments.recorder().steps() == 3);
  CHECK(training->backward_s == Approx(0.030));
  CHECK(training->forward_s == Approx(0.015));
  REQUIRE(training->gradients.size() == 2);
  CHECK(training->gradients[0].ready_s == Approx(0.030));
  CHECK(training->gradients[0].need_s == Approx(0).margin(1e-6));
  CHECK(training->gradients[1].ready_s == Approx(0.010));
  CHECK(training->gradients[1].need_s == Approx(0.005));
}

TEST_CASE("device moments: a gradient is needed where the program takes it, and at the end at the latest") {
  Recorded on;
  on.time.computes(on.program, 10);
  on.submit({0, 1});
  on.time.computes(on.program, 4);
  on.moments.needs(1);
  on.time.computes(on.program, 4);
  on.moments.needs(1);
  on.moments.needs(7);  // no such gradient
  on.time.computes(on.program, 2);
  on.end();
  const std::optional<Training> training = on.training();
  REQUIRE(training);
  CHECK(training->gradients[0].ready_s == Approx(0.010));
  CHECK(training->gradients[1].need_s == Approx(0.004));
  CHECK(training->gradients[0].need_s == Approx(0.010));
}

TEST_CASE("device moments: a step that is too far ahead of the device is left out, and nothing waits for it") {
  Recorded on;
  const std::uint64_t waits = emulated::calls("cuStreamSynchronize");
  emulated::hold_streams();
  for (int step = 0; step < 4; ++step) {
    on.time.computes(on.program, step == 0 ? 7 : 50);
    on.submit({0, 1});
    if (step == 1) on.moments.waits(0);  // in a step that is left out; it goes on in one that is not
    on.end();
  }
  CHECK(emulated::calls("cuStreamSynchronize") == waits);
  emulated::release_streams();
  on.time.passes(on.program, 0);
  CHECK(on.training()->backward_s == Approx(0.007));
  CHECK(on.moments.recorder().steps() == 1);
  on.end();  // of the step under way, without gradients
  on.time.passes(on.program, 20);
  on.moments.goes_on();
  on.time.computes(on.program, 11);
  on.submit({0, 1});
  on.end();
  on.training();
  CHECK(on.moments.recorder().program_seconds_of_last_step() == Approx(0.011));
}

TEST_CASE(
    "device moments: a step of a program that asks again and again is left out, and takes no events without end") {
  Recorded on;
  const std::uint64_t events = emulated::calls("cuEventCreate");
  on.submit({0});
  for (int i = 0; i < 1000; ++i) {
    on.moments.waits(0);
    on.moments.goes_on();
  }
  on.end();
  CHECK_FALSE(on.training());
  CHECK(emulated::calls("cuEventCreate") - events < 100);
  on.time.computes(on.program, 3);
  on.submit({0});
  on.end();
  CHECK(on.training()->backward_s == Approx(0.003));
}

TEST_CASE("device moments: a step in which its stream is captured into a graph is left out, and the graph is whole") {
  Recorded on;
  on.submit({0});
  emulated::begin_capture(on.program.stream());
  on.moments.waits(0);
  on.moments.goes_on();
  CHECK(emulated::end_capture(on.program.stream()));
  on.end();
  CHECK_FALSE(on.training());
  on.time.computes(on.program, 3);
  on.submit({0});
  on.end();
  CHECK(on.training()->backward_s == Approx(0.003));
}

TEST_CASE("device moments: steps of a device that has failed are left out") {
  Recorded on;
  on.submit({0});
  emulated::break_device();
  on.end();
  on.submit({0});
  on.end();
  emulated::mend_device();
  CHECK_FALSE(on.training());
}
