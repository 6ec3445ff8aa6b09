// SPDX-License-Identifier: Apache-2.0
//
// Devices and sessions on this machine's GPU, whose kernels NVRTC compiles: a program that tools/gpu_check carries
// there.
#define CATCH_CONFIG_RUNNER
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

}  // namespace casync::test

int main(int count, char** arguments) {
  const auto device = casync::test::open_gpu("cuda:0");
  if (!device) {
    std::fprintf(stderr, "%s\n", device.status().text().c_str());
    return 77;
  }
  return Catch::Session().run(count, arguments);
}
