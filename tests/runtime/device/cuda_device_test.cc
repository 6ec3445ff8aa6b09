// SPDX-License-Identifier: Apache-2.0
//
// The CUDA device on the emulated driver.
#include "runtime/device/cuda/cuda_device.h"

#include "runtime/device/cuda/factory.h"
#include "tests/conformance/device_conformance.h"
#include "tests/runtime/session/emulated_gpu.h"

namespace casync::test {

namespace emulated = compll::emulated;

TEST_CASE("cuda device: conforms") {
  const auto device = std::move(open_emulated("cuda:0")).value();
  CHECK(device->name() == "cuda:0");
  check_device(*device);
}

TEST_CASE("cuda device: whose memory it is") {
  emulated::set_device_count(2);
  const auto first = std::move(open_emulated("cuda:0")).value(), second = std::move(open_emulated("cuda:1")).value();
  emulated::set_device_count(1);
  const auto memory = std::move(second->allocate(64, Memory::kDevice)).value();
  CHECK(first->check(memory->device()).text() ==
        "InvalidArgument: its memory is on cuda:1, and the session is on cuda:0");
  CHECK(second->check(memory->device()).is_ok());
  const int host = 0;
  CHECK(first->check(runtime::DeviceView::of(&host, 4)).text() ==
        "InvalidArgument: its memory is the host's, and the session is on cuda:0");
}

TEST_CASE("cuda device: an event carries the failure of a kernel before it, and everything refuses from then on") {
  const auto device = std::move(open_emulated("cuda:0")).value();
  DeviceUnderTest on(*device);
  emulated::break_device();
  const std::string fault = "an illegal memory access was encountered (CUDA 700)";
  CHECK_THAT(on.event->done().status().text(), Catch::Contains("cuda:0 (this host)") && Catch::Contains(fault));
  CHECK_THAT(on.stream->record(*on.event).text(), Catch::Contains("cuEventRecord: " + fault));
  CHECK(device->make_stream(false).status().code() == StatusCode::kUnavailable);
  emulated::mend_device();
}

TEST_CASE("cuda device: no memory is an error that says how much was asked for") {
  const auto device = std::move(open_emulated("cuda:0")).value();
  emulated::set_device_memory(1000);
  const Status status = device->allocate(1001, Memory::kDevice).status();
  emulated::set_device_memory(~std::size_t{0} / 2);
  CHECK(status.text() ==
        "Unavailable: cuda:0 (this host): asked for 1001 bytes of memory of the device: out of memory (CUDA 2)");
}

TEST_CASE("cuda device: without a driver it says so") {
  const auto device = runtime::make_cuda_device(0);
  if (device.is_ok()) return;  // this machine has a GPU
  CHECK(device.status().code() == StatusCode::kUnavailable);
  CHECK_THAT(device.status().message(), Catch::Contains("CUDA driver") || Catch::Contains("CUDA device"));
}

}  // namespace casync::test
