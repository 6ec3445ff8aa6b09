// SPDX-License-Identifier: Apache-2.0
//
// Samples of gradients on a GPU, which the emulated driver is.
#include "runtime/session/device_sampler.h"

#include <catch2/catch.hpp>
#include <vector>

#include "casync/patterns/sampled.h"
#include "tests/compll/cuda/emulated/driver.h"
#include "tests/compll/cuda/emulated/streams.h"
#include "tests/runtime/session/gpu.h"
#include "tests/runtime/session/gradients.h"

using namespace casync;        // NOLINT(google-build-using-namespace)
using namespace casync::test;  // NOLINT(google-build-using-namespace)

namespace {

namespace emulated = compll::emulated;

/// One gradient, on the device and on the host.
struct Sampled {
  explicit Sampled(std::size_t elements, DType dtype = DType::kFloat32)
      : spec{"g", dtype, {static_cast<std::int64_t>(elements)}, 0},
        device(std::move(open_gpu("cuda:0")).value()),
        floats(program.floats(elements, dtype)),
        on_device(*device, sampler) {
    REQUIRE(on_device.declare(spec).is_ok());
  }
  /// Returns the stream after which the gradient may change.
  void* submit(const std::vector<float>& values, std::uint32_t step) {
    program.write(floats, values);
    std::vector<std::byte> elements(spec.bytes());
    convert(values, spec.dtype, elements.data());
    on_host.submitted(0, spec, {elements.data(), elements.size()}, step);
    const Result<void*> stream = on_device.submitted(0, program.submission(GradientId(0), floats), step);
    REQUIRE(stream.is_ok());
    return *stream;
  }
  void drain(void* stream) {
    program.context([&](const auto& api) { api.wait_for_stream(stream); });
  }
  static std::vector<float> of(const GradientSampler& sampler) {
    return {sampler.sample(0).begin(), sampler.sample(0).end()};
  }

  const GradientSpec spec;
  GradientSampler sampler, on_host;
  std::unique_ptr<Device> device;
  Program program;
  Program::Floats floats;
  DeviceSampler on_device;
};

}  // namespace

TEST_CASE("device sampler: the sample is the host's, whatever comes after it in the stream that it names") {
  for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
    for (const std::size_t elements : {1, 4097, 50'001}) {
      INFO(name_of(dtype) << ", " << elements << " elements");
      Sampled on(elements, dtype);
      emulated::hold_streams();
      void* const stream = on.submit(contribution(0, elements, 1), 0);
      CHECK(stream != on.program.stream());
      on.program.context(
          [&](const auto& api) { api.fill(on.floats.memory->device().address(), 0xff, on.spec.bytes(), stream); });
      emulated::release_streams();
      on.drain(stream);
      CHECK(on.sampler.empty());
      on.on_device.take_over();
      CHECK(Sampled::of(on.sampler).size() == sampled_elements(elements));
      CHECK(Sampled::of(on.sampler) == Sampled::of(on.on_host));
    }
  }
}

TEST_CASE("device sampler: submissions 1, 2, 4, 8 are copied, the others go on in their own stream") {
  Sampled on(100);
  for (std::uint32_t step = 0; step < 9; ++step) {
    void* const stream = on.submit(contribution(0, 100, step), step);
    CHECK((stream != on.program.stream()) == (step == 0 || step == 1 || step == 3 || step == 7));
    on.drain(stream);
    on.on_device.take_over();
    CHECK(Sampled::of(on.sampler) == Sampled::of(on.on_host));
  }
  CHECK(Sampled::of(on.sampler) == contribution(0, 100, 7));
}

TEST_CASE("device sampler: nobody waits for a copy that is under way; the next sample is left out") {
  Sampled on(100);
  emulated::hold_streams();
  void* const stream = on.submit(contribution(0, 100, 0), 0);
  on.on_device.take_over();
  CHECK(on.sampler.empty());
  on.program.context([&](const auto& api) {  // the reduction
    api.fill(on.floats.memory->device().address(), 0xff, on.spec.bytes(), stream);
  });
  const Submission again = on.program.submission(GradientId(0), on.floats);
  CHECK(on.on_device.submitted(0, again, 1).value() == on.program.stream());
  emulated::release_streams();
  on.drain(stream);
  on.on_device.take_over();
  CHECK(Sampled::of(on.sampler) == contribution(0, 100, 0));
}

TEST_CASE("device sampler: a gradient without elements") {
  Sampled on(0);
  CHECK(on.submit({}, 0) == on.program.stream());
  CHECK(on.sampler.empty());
}

TEST_CASE("device sampler: a device that has failed is said, and its copies are forgotten") {
  Sampled on(100);
  emulated::hold_streams();
  on.submit(contribution(0, 100, 0), 0);
  emulated::break_device();
  emulated::release_streams();
  const Submission again = on.program.submission(GradientId(0), on.floats);
  CHECK(on.on_device.submitted(0, again, 1).status().code() == StatusCode::kUnavailable);
  on.on_device.take_over();
  emulated::mend_device();
  CHECK(on.sampler.empty());
}
