// SPDX-License-Identifier: Apache-2.0
//
// Small gradients on a GPU: a bundle is one batch of kernels, with the bytes of each gradient alone on the host.
#include <catch2/catch.hpp>
#include <string>

#include "tests/compll/cuda/emulated/driver.h"
#include "tests/runtime/session/bundle_cases.h"
#include "tests/runtime/session/gpu.h"

using namespace casync;                 // NOLINT(google-build-using-namespace)
using namespace casync::test::bundles;  // NOLINT(google-build-using-namespace)

namespace {

/// Gradients in a GPU's memory.
class OnGpu {
 public:
  static void configure(SessionOptions& options) { test::on_gpu(options); }

  /// In the order of gradients.
  Submission submission(GradientId id, const std::vector<float>& values) {
    const auto at = static_cast<std::size_t>(id);
    if (at == floats_.size()) floats_.push_back(program_.floats(values.size()));
    program_.write(floats_[at], values);
    return program_.submission(id, floats_[at]);
  }
  void read(std::size_t gradient, std::vector<float>& values) { values = program_.read(floats_[gradient]); }

 private:
  test::Program program_;
  std::vector<test::Program::Floats> floats_;
};

struct Driven : Outcome {
  std::uint64_t calls = 0;  ///< launches, and copies from and to the host, but for the program's own
};

/// "" or what went wrong.
std::string train_on_gpu(const std::string& codec, Bytes fusion_bytes, bool mixed, Driven& outcome,
                         bool with_nan = false, const std::string& more = "") {
  const auto calls = [] {
    std::uint64_t all = 0;
    for (const char* name : {"cuLaunchKernel", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2"}) {
      all += compll::emulated::calls(name);
    }
    return all;
  };
  const std::uint64_t before = calls();
  const std::string complaints = train<OnGpu>(codec, fusion_bytes, mixed, "loopback", outcome, with_nan, more);
  outcome.calls = calls() - before - 2 * kRanks * kBundleSteps * kGradients;
  return complaints;
}

void check_same(const Outcome& host, const Outcome& device) {
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    CHECK(alike(host.values[rank], device.values[rank]));
    CHECK(alike(host.kept[rank], device.kept[rank]));
  }
}

}  // namespace

TEST_CASE("session bundles on a GPU: the bytes of each gradient alone on the host, in two thirds of the calls") {
  for (const char* codec : {"none", "int8", "onebit", "topk", "terngrad", "bf16"}) {
    INFO(codec);
    Outcome host;
    Driven alone, together;
    REQUIRE(train(codec, 0, false, "loopback", host) == "");
    REQUIRE(train_on_gpu(codec, 0, false, alone) == "");
    REQUIRE(train_on_gpu(codec, 64_KiB, false, together) == "");
    check_same(host, alone);
    check_same(host, together);
    // The calls of a declaration count, too. Alone, gradients that are ready together share kernels.
    CHECK(3 * together.calls <= 2 * alone.calls);
    CHECK(10 * together.tasks <= alone.tasks);
  }
}

TEST_CASE("session bundles on a GPU: another codec on the second hop, dedicated servers, one result for all codes") {
  for (const char* more :
       {"second_hop { name: \"none\" }", "second_hop { name: \"int4\" }", "servers: 2 dedicated: true"}) {
    for (const char* codec : {"none", "int8", "subsampling"}) {
      INFO(codec << ", " << more);
      Outcome host;
      Driven device;
      const std::string refused = train(codec, 0, false, "loopback", host, false, more);
      CHECK((refused == "" || refused.find("PlanError") != std::string::npos));
      if (refused != "") continue;
      REQUIRE(train_on_gpu(codec, 64_KiB, false, device, false, more) == "");
      check_same(host, device);
    }
  }
}

TEST_CASE("session bundles on a GPU: a rank that submits one by one, or waits in between, meets those that bundle") {
  for (const char* codec : {"none", "int8", "onebit", "dgc"}) {
    INFO(codec);
    Outcome host;
    Driven device;
    REQUIRE(train(codec, 0, false, "loopback", host) == "");
    REQUIRE(train_on_gpu(codec, 64_KiB, true, device) == "");
    check_same(host, device);
  }
}

TEST_CASE("session bundles on a GPU: a gradient that is not finite says so for itself alone") {
  for (const char* codec : {"none", "onebit"}) {
    for (const bool mixed : {false, true}) {
      INFO(codec << (mixed ? ", mixed" : ""));
      Outcome host;
      Driven device;
      REQUIRE(train(codec, 0, false, "loopback", host, true) == "");
      REQUIRE(train_on_gpu(codec, 64_KiB, mixed, device, true) == "");
      CHECK(device.first_non_finite == "g17");
      check_same(host, device);
    }
  }
}
