// SPDX-License-Identifier: Apache-2.0
//
// Devices and sessions on this machine's GPU, whose kernels NVRTC compiles: a program that tools/gpu_check carries
// there.
#define CATCH_CONFIG_RUNNER
#include <dlfcn.h>

#include <catch2/catch.hpp>
#include <cstdio>

#include "compll/codec/registry.h"
#include "tests/conformance/device_conformance.h"
#include "tests/runtime/session/device_runs.h"

namespace casync::test {

TEST_CASE("on this GPU: the device conforms") { check_device(*std::move(open_gpu("cuda:0")).value()); }

TEST_CASE("on this GPU: the bytes of every codec are the host's") {
  for (const std::string& name : compll::codec_names()) {
    for (const int ranks : {4}) {
      INFO(name << ", " << ranks << " ranks");
      AllSeen host, device;
      CHECK(run_steps(ranks, false, codec(name), host) == "");
      CHECK(run_steps(ranks, true, codec(name), device) == "");
      CHECK(difference(host, device) == "");
    }
  }
}

TEST_CASE(
    "on this GPU: a captured stream is refused, and a program captures another one while gradients are under way") {
  void* const driver = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  REQUIRE(driver != nullptr);
  const auto begin = reinterpret_cast<int (*)(void*, int)>(::dlsym(driver, "cuStreamBeginCapture_v2"));
  const auto end = reinterpret_cast<int (*)(void*, void**)>(::dlsym(driver, "cuStreamEndCapture"));
  REQUIRE((begin != nullptr && end != nullptr));
  const auto body = [&](Session& session, RankContext& context) -> std::string {
    constexpr int kGlobal = 0;  // the strictest mode, PyTorch's default
    Program program, other;
    const Result<GradientId> id = declare(session, "layer", 5000);
    auto floats = program.floats(5000);
    const Submission one = program.submission(*id, floats);
    int began = 0, ended = 0;
    void* graph = nullptr;
    program.context([&](const auto&) { began = begin(program.stream(), kGlobal); });
    const Status refused = session.submit({&one, 1}).status();
    program.context([&](const auto&) { ended = end(program.stream(), &graph); });
    if (began != 0 || ended != 0) return "no capture: " + std::to_string(began) + ", " + std::to_string(ended);
    if (refused.code() != StatusCode::kInvalidArgument) return "not refused: " + refused.text();
    other.context([&](const auto&) { began = begin(other.stream(), kGlobal); });
    for (std::uint32_t step = 0; step < 4; ++step) {
      program.write(floats, contribution(context.rank, 5000, step));
      Status status = session.submit({&one, 1}).status();
      if (status) status = session.step().status();
      if (!status) return status.text();
    }
    other.context([&](const auto&) { ended = end(other.stream(), &graph); });
    return began == 0 && ended == 0 ? "" : "a call has ended the capture: " + std::to_string(ended);
  };
  CHECK(with_sessions(
            2, [](SessionOptions& options) { on_gpu(options); }, body) == "");
}

}  // namespace casync::test

int main(int count, char** arguments) {
  const auto device = casync::test::open_gpu("cuda:0");
  if (!device) {
    std::fprintf(stderr, "%s\n", device.status().text().c_str());
    return 77;
  }
  return Catch::Session().run(count, arguments);
}
