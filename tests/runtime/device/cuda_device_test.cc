// SPDX-License-Identifier: Apache-2.0
//
// The CUDA device on the emulated driver.
#include "runtime/device/cuda/cuda_device.h"

#include "compll/codec/registry.h"
#include "runtime/device/cuda/factory.h"
#include "tests/compll/cuda/emulated/driver.h"
#include "tests/compll/cuda/emulated/streams.h"
#include "tests/conformance/device_conformance.h"
#include "tests/runtime/session/gpu.h"

namespace casync::test {

namespace emulated = compll::emulated;

TEST_CASE("cuda device: conforms") {
  const auto device = std::move(open_gpu("cuda:0")).value();
  CHECK(device->name() == "cuda:0");
  check_device(*device);
}

TEST_CASE("cuda device: its address on the bus") {
  emulated::set_device_count(2);
  CHECK(std::move(open_gpu("cuda:0")).value()->bus_address() == "0000:3a:03.0");
  CHECK(std::move(open_gpu("cuda:1")).value()->bus_address() == "0000:3b:03.0");
  emulated::set_device_count(1);
}

TEST_CASE("cuda device: the owner of memory") {
  emulated::set_device_count(2);
  const auto first = std::move(open_gpu("cuda:0")).value(), second = std::move(open_gpu("cuda:1")).value();
  emulated::set_device_count(1);
  const auto memory = std::move(second->allocate(64, Memory::kDevice)).value();
  CHECK(first->check(memory->device()).text() ==
        "InvalidArgument: its memory is on cuda:1, and the session is on cuda:0");
  CHECK(second->check(memory->device()).is_ok());
  const int host = 0;
  CHECK(first->check(runtime::DeviceView::of(&host, 4)).text() ==
        "InvalidArgument: its memory is the host's, and the session is on cuda:0");
}

TEST_CASE("cuda device: an event carries the failure of an earlier kernel, and everything refuses from then on") {
  const auto device = std::move(open_gpu("cuda:0")).value();
  DeviceUnderTest on(*device);
  emulated::break_device();
  const std::string fault = "an illegal memory access was encountered (CUDA 700)";
  CHECK_THAT(on.event->done().status().text(), Catch::Contains("cuda:0 (this host)") && Catch::Contains(fault));
  CHECK_THAT(on.stream->record(*on.event).text(), Catch::Contains("cuEventRecord: " + fault));
  CHECK(device->make_stream(false).status().code() == StatusCode::kUnavailable);
  for (const Memory kind : {Memory::kDevice, Memory::kPinned}) {
    const std::string text = device->allocate(64, kind).status().text();
    CHECK_THAT(text, Catch::EndsWith(fault + ": this process cannot use the GPU any more: start it again"));
  }
  emulated::mend_device();
}

TEST_CASE("cuda device: after an error of the hardware the process has to be started again, too") {
  const auto device = std::move(open_gpu("cuda:0")).value();
  emulated::set_error(compll::DriverApi::kContained);
  const std::string text = device->allocate(64, Memory::kDevice).status().text();
  emulated::mend_device();
  CHECK_THAT(text, Catch::EndsWith("(CUDA 226): this process cannot use the GPU any more: start it again"));
}

TEST_CASE("cuda device: a batch takes no more room than its calls alone, of every codec") {
  const auto device = std::move(open_gpu("cuda:0")).value();
  const auto at = runtime::DeviceView::of(nullptr, 0);
  for (const std::string& name : compll::codec_names()) {
    const std::unique_ptr<compll::Codec> codec = std::move(compll::make_codec(name)).value();
    const auto kernels = std::move(device->kernels(name, *codec)).value();
    for (const auto function :
         {runtime::KernelFunction::kEncode, runtime::KernelFunction::kMerge, runtime::KernelFunction::kDecode}) {
      if (function == runtime::KernelFunction::kEncode && codec->info().identity) continue;
      INFO(name << ", function " << static_cast<int>(function));
      const std::vector<runtime::KernelTerm> terms(3, {at, at});
      std::vector<runtime::KernelCall> batch;
      runtime::KernelRoom alone;
      for (const Elements n : {Elements{1}, Elements{700}, Elements{5000}, Elements{5000}, Elements{300'000}}) {
        runtime::KernelCall& call = batch.emplace_back();
        call.function = function;
        call.n = n;
        if (function != runtime::KernelFunction::kEncode) call.terms = terms;
        const runtime::KernelRoom one = std::move(kernels->room({&call, 1})).value();
        alone.device += one.device;
        alone.pinned += one.pinned;
        const runtime::KernelRoom all = std::move(kernels->room(batch)).value();
        CHECK(all.device <= alone.device);
        CHECK(all.pinned <= alone.pinned);
      }
    }
  }
}

TEST_CASE("cuda device: no memory is an error that says how much was asked for") {
  const auto device = std::move(open_gpu("cuda:0")).value();
  emulated::set_device_memory(1000);
  const Status status = device->allocate(1001, Memory::kDevice).status();
  emulated::set_device_memory(~std::size_t{0} / 2);
  CHECK(status.text() ==
        "Unavailable: cuda:0 (this host): asked for 1001 bytes of memory of the device (cuMemAlloc): out of memory "
        "(CUDA 2): other programs or a framework's cache may have it (torch.cuda.empty_cache()), and `residual_memory` "
        "in the plan takes less of it");
}

TEST_CASE("cuda device: without a driver it says so") {
  const auto device = runtime::make_cuda_device(0);
  if (device.is_ok()) return;  // this machine has a GPU
  CHECK(device.status().code() == StatusCode::kUnavailable);
  CHECK_THAT(device.status().message(), Catch::Contains("CUDA driver") || Catch::Contains("CUDA device"));
}

}  // namespace casync::test
