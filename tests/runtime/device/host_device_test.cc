// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/host_device.h"

#include "runtime/device/cuda/factory.h"
#include "tests/conformance/device_conformance.h"

TEST_CASE("host device: conforms") { casync::test::check_device(*casync::runtime::make_host_device()); }

TEST_CASE("cuda device: a build without it says so") {
  const auto device = casync::runtime::make_cuda_device(0);
  REQUIRE(!device.is_ok());
  CHECK(device.status().code() == casync::StatusCode::kUnimplemented);
  CHECK_THAT(device.status().message(), Catch::Contains("CASYNC_WITH_CUDA=OFF"));
}
