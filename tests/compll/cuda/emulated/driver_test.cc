// SPDX-License-Identifier: Apache-2.0
//
// The emulated driver itself: what the tests of a device on it lean on.
#include "tests/compll/cuda/emulated/driver.h"

#include <catch2/catch.hpp>
#include <string>
#include <thread>
#include <vector>

#include "compll/cuda/context_scope.h"
#include "compll/cuda/cuda_device.h"
#include "compll/cuda/cuda_modules.h"
#include "tests/compll/cuda/emulated/streams.h"

namespace casync::compll {
namespace {

using Handle = DriverApi::Handle;
using Memory = DriverApi::Memory;
const DriverApi& api() { return emulated::driver(); }

/// A context of device 0 and what tests use in it.
struct Here {
  Here() : scope(api(), context_of(0)) {
    api().make_stream(&stream, DriverApi::kNonBlocking, 0);
    api().make_event(&event, DriverApi::kWithoutTiming);
    api().allocate(&memory, 4);
    api().allocate_pinned(&pinned, 4, DriverApi::kPortable);
  }
  ~Here() {
    emulated::release_streams();
    emulated::mend_device();
    api().wait_for_stream(stream);
    api().end_stream(stream);
    api().end_event(event);
    api().free(memory);
    api().free_pinned(pinned);
  }
  static Handle context_of(int device) {
    Handle context = nullptr;
    api().retain_context(&context, device);
    return context;
  }
  int in_memory() {
    int value = 0;
    api().download(&value, memory, 4, stream);  // to memory that is not pinned, so it waits
    return value;
  }

  ContextScope scope;
  Handle stream = nullptr, event = nullptr;
  Memory memory = 0;
  void* pinned = nullptr;
};

void wait_until_over(Handle event) {
  while (api().query_event(event) == DriverApi::kNotReady) std::this_thread::yield();
}

}  // namespace

TEST_CASE("emulated driver: a stream works in order, while its caller goes on") {
  Here here;
  emulated::hold_streams();
  *static_cast<int*>(here.pinned) = 1;
  CHECK(api().upload(here.memory, here.pinned, 4, here.stream) == 0);
  CHECK(api().record_event(here.event, here.stream) == 0);
  CHECK(api().query_event(here.event) == DriverApi::kNotReady);
  *static_cast<int*>(here.pinned) = 2;  // pinned memory is read when the copy runs
  emulated::release_streams();
  wait_until_over(here.event);
  CHECK(here.in_memory() == 2);
}

TEST_CASE("emulated driver: an event may end while its record is queued") {
  Here here;
  Handle event = nullptr;
  api().make_event(&event, 0);
  emulated::hold_streams();
  CHECK(api().record_event(event, here.stream) == 0);
  CHECK(api().wait_in_stream(here.stream, event, 0) == 0);
  api().end_event(event);
  emulated::release_streams();
  CHECK(api().wait_for_stream(here.stream) == 0);
}

TEST_CASE("emulated driver: a stream ends at once, and what is queued there runs all the same") {
  Here here;
  Handle stream = nullptr;
  api().make_stream(&stream, DriverApi::kNonBlocking, 0);
  emulated::hold_streams();
  *static_cast<int*>(here.pinned) = 3;
  CHECK(api().upload(here.memory, here.pinned, 4, stream) == 0);
  CHECK(api().record_event(here.event, stream) == 0);
  CHECK(api().end_stream(stream) == 0);
  CHECK(api().query_event(here.event) == DriverApi::kNotReady);
  emulated::release_streams();
  wait_until_over(here.event);
  CHECK(here.in_memory() == 3);
}

TEST_CASE("emulated driver: a call that may wait ends captures, but not of a thread in the relaxed mode") {
  Here here, other;  // the scope makes it relaxed
  int status = 0, mode = 0;
  emulated::begin_capture(other.stream);
  CHECK(api().is_capturing(other.stream, &status) == 0);
  CHECK(status != DriverApi::kCaptureNone);
  CHECK(api().is_capturing(here.stream, &status) == 0);
  CHECK(status == DriverApi::kCaptureNone);
  CHECK(api().record_event(other.event, other.stream) == emulated::kCaptureUnsupported);
  CHECK_FALSE(emulated::end_capture(other.stream));  // the event would be the graph's
  emulated::begin_capture(other.stream);
  CHECK(api().query_event(here.event) == 0);
  CHECK(emulated::end_capture(other.stream));
  emulated::begin_capture(other.stream);
  CHECK(api().exchange_capture_mode(&mode) == 0);
  CHECK(mode == DriverApi::kRelaxedCapture);
  CHECK(api().record_event(here.event, here.stream) == 0);  // waits for nothing
  CHECK(api().query_event(here.event) == emulated::kCaptureUnsupported);
  CHECK_FALSE(emulated::end_capture(other.stream));
  CHECK(api().exchange_capture_mode(&mode) == 0);
}

TEST_CASE("emulated driver: time between events is a test's, or the host's; both have to be over and to keep it") {
  Here here;
  Handle begin = nullptr, end = nullptr;
  api().make_event(&begin, 0);
  api().make_event(&end, 0);
  float ms = -1;
  CHECK(api().milliseconds_between(&ms, begin, end) == emulated::kInvalidHandle);  // never recorded
  emulated::set_time(5);
  CHECK(api().record_event(begin, here.stream) == 0);
  const auto advance = [](void*) { emulated::set_time(12.5); };
  CHECK(api().call_host(here.stream, advance, nullptr) == 0);
  emulated::hold_streams();
  CHECK(api().record_event(end, here.stream) == 0);
  CHECK(api().milliseconds_between(&ms, begin, end) == DriverApi::kNotReady);
  emulated::release_streams();
  wait_until_over(end);
  CHECK(api().milliseconds_between(&ms, begin, end) == 0);
  CHECK(ms == 7.5f);
  emulated::take_host_time();
  CHECK(api().record_event(begin, here.stream) == 0);
  CHECK(api().record_event(end, here.stream) == 0);
  wait_until_over(end);
  CHECK(api().milliseconds_between(&ms, begin, end) == 0);
  CHECK(ms >= 0);
  CHECK(ms < 60'000);
  CHECK(api().record_event(here.event, here.stream) == 0);
  wait_until_over(here.event);
  CHECK(api().milliseconds_between(&ms, begin, here.event) == emulated::kInvalidHandle);  // keeps no time
  api().end_event(begin);
  api().end_event(end);
}

TEST_CASE("emulated driver: a stream waits for another's event, and not for one that never was recorded") {
  Here here, other;
  CHECK(api().wait_in_stream(other.stream, other.event, 0) == 0);
  CHECK(api().wait_for_stream(other.stream) == 0);
  emulated::hold_streams();
  *static_cast<int*>(here.pinned) = 5;
  api().upload(here.memory, here.pinned, 4, here.stream);
  api().record_event(here.event, here.stream);
  api().wait_in_stream(other.stream, here.event, 0);
  api().copy(other.memory, here.memory, 4, other.stream);
  emulated::release_streams();
  CHECK(api().wait_for_stream(other.stream) == 0);
  CHECK(other.in_memory() == 5);
}

TEST_CASE("emulated driver: a fault in a kernel is told later, and then by everything") {
  Here here;
  emulated::break_after_kernels(0);
  Handle module = nullptr, kernel = nullptr;
  api().load_module(&module, "");
  REQUIRE(api().function(&kernel, module, "casync_int4_encode") == 0);
  cuda::Launch launch;
  void* arguments[] = {&launch};
  CHECK(api().launch(kernel, 1, 1, 1, 128, 1, 1, 0, here.stream, arguments, nullptr) == 0);
  api().record_event(here.event, here.stream);
  wait_until_over(here.event);
  CHECK(api().query_event(here.event) == emulated::kIllegalAccess);
  CHECK(api().record_event(here.event, here.stream) == emulated::kIllegalAccess);
  CHECK(api().wait_for_stream(here.stream) == emulated::kIllegalAccess);
}

TEST_CASE("emulated driver: a function of a stream calls no driver, and kernels belong to the device that loads them") {
  Here here;
  int code = 0;
  const auto call = [](void* user) { *static_cast<int*>(user) = api().query_event(nullptr); };
  CHECK(api().call_host(here.stream, call, &code) == 0);
  CHECK(api().wait_for_stream(here.stream) == 0);
  CHECK(code == emulated::kNotPermitted);
  Handle module = nullptr, kernel = nullptr;
  api().load_module(&module, "");
  REQUIRE(api().function(&kernel, module, "casync_int4_encode") == 0);
  cuda::Launch launch;
  void* arguments[] = {&launch};
  CHECK(api().launch(kernel, 0, 1, 1, 128, 1, 1, 0, here.stream, arguments, nullptr) == emulated::kInvalidValue);
  CHECK(api().launch(kernel, 1, 1, 1, 1056, 1, 1, 0, here.stream, arguments, nullptr) == emulated::kInvalidValue);
  const ContextScope second(api(), Here::context_of(1));
  CHECK(api().launch(kernel, 1, 1, 1, 128, 1, 1, 0, here.stream, arguments, nullptr) == emulated::kInvalidHandle);
}

TEST_CASE("emulated driver: a launch has 48 KiB of shared memory at most, or what its kernel was given") {
  Here here;
  Handle module = nullptr, kernel = nullptr;
  api().load_module(&module, "");
  REQUIRE(api().function(&kernel, module, "casync_int4_encode") == 0);
  const auto launch_with = [&](unsigned shared_bytes) {
    cuda::Launch launch;
    void* arguments[] = {&launch};
    return api().launch(kernel, 1, 1, 1, 128, 1, 1, shared_bytes, here.stream, arguments, nullptr);
  };
  const auto give = [&](int bytes) { return api().set_function_attribute(kernel, DriverApi::kMostShared, bytes); };
  emulated::hold_streams();
  emulated::break_after_kernels(0);  // none of them runs: they have no segments
  CHECK(launch_with(48 << 10) == 0);
  CHECK(launch_with((48 << 10) + 1) == emulated::kInvalidValue);
  CHECK(give((227 << 10) + 1) == emulated::kInvalidValue);
  CHECK(give(64 << 10) == 0);
  CHECK(launch_with(64 << 10) == 0);
  CHECK(launch_with((64 << 10) + 1) == emulated::kInvalidValue);
  CHECK(give(48 << 10) == 0);  // of other tests, too
  emulated::release_streams();
  CHECK(api().wait_for_stream(here.stream) == emulated::kIllegalAccess);
}

TEST_CASE("emulated driver: a kernel whose arguments lead to memory of the host faults") {
  Handle module = nullptr, kernel = nullptr;
  const float host[4] = {};
  for (const bool in_list : {false, true}) {
    INFO((in_list ? "the elements" : "the list of segments"));
    Here here;
    api().load_module(&module, "");
    REQUIRE(api().function(&kernel, module, "casync_int4_encode") == 0);
    cuda::Segment segment;
    segment.n = 4;
    segment.in = host;
    Memory list = 0;
    REQUIRE(api().allocate(&list, sizeof segment) == 0);
    REQUIRE(api().upload(list, &segment, sizeof segment, here.stream) == 0);
    cuda::Launch launch;
    launch.segments = in_list ? reinterpret_cast<const cuda::Segment*>(list) : &segment;
    launch.segment_count = 1;
    void* arguments[] = {&launch};
    CHECK(api().launch(kernel, 1, 1, 1, 128, 1, 1, 0, here.stream, arguments, nullptr) == 0);
    CHECK(api().wait_for_stream(here.stream) == emulated::kIllegalAccess);
    emulated::mend_device();
    api().free(list);
  }
}

TEST_CASE("emulated driver: calls that a true driver would forgive are errors") {
  Here here;
  CHECK(api().upload(here.memory, here.pinned, 4, nullptr) == emulated::kInvalidHandle);
  CHECK(api().upload(here.memory, here.pinned, 5, here.stream) == emulated::kInvalidValue);
  int host = 0;
  CHECK(api().fill(reinterpret_cast<Memory>(&host), 0, 4, here.stream) == emulated::kInvalidValue);
  int kind = 0;
  CHECK(api().pointer_attribute(&kind, DriverApi::kMemoryKind, here.memory) == 0);
  CHECK(kind == DriverApi::kDeviceMemory);
  CHECK(api().pointer_attribute(&kind, DriverApi::kMemoryKind, reinterpret_cast<Memory>(here.pinned)) == 0);
  CHECK(kind == DriverApi::kHostMemory);
  CHECK(api().pointer_attribute(&kind, DriverApi::kMemoryKind, reinterpret_cast<Memory>(&host)) != 0);
  const ContextScope second(api(), Here::context_of(1));
  CHECK(api().record_event(here.event, here.stream) == emulated::kInvalidHandle);
}

TEST_CASE("emulated driver: calls are counted, and copies that a true driver waits for") {
  Here here;
  const std::uint64_t copies = emulated::calls("cuMemcpyHtoDAsync_v2"), waits = emulated::calls("pageable copy");
  api().upload(here.memory, here.pinned, 4, here.stream);
  CHECK(emulated::calls("pageable copy") == waits);
  const int own = 7;
  api().upload(here.memory, &own, 4, here.stream);
  CHECK(here.in_memory() == 7);
  CHECK(emulated::calls("pageable copy") == waits + 2);
  CHECK(emulated::calls("cuMemcpyHtoDAsync_v2") == copies + 2);
}

TEST_CASE("a GPU: it leaves the program's context current, and is the one that was asked for") {
  const ContextScope program(api(), Here::context_of(3));
  emulated::set_device_count(2);
  const auto device = CudaDevice::open(api(), 1);
  REQUIRE(device.status().text() == "OK");
  std::byte* const memory = (*device)->allocate(64);
  int ordinal = -1;
  api().pointer_attribute(&ordinal, DriverApi::kOrdinal, reinterpret_cast<Memory>(memory));
  CHECK(ordinal == 1);
  (*device)->fill(memory, 7, 64);
  std::byte back[64] = {};
  (*device)->download(back, memory, 64);
  CHECK(back[63] == std::byte{7});
  (*device)->free(memory);
  CHECK((*device)->status().text() == "OK");
  Handle current = nullptr;
  api().pop_context(&current);
  CHECK(current == Here::context_of(3));
  api().push_context(current);
  CHECK(CudaDevice::open(api(), 2).status().text() == "Unavailable: CUDA device 2: the driver shows 2");
  emulated::set_device_count(1);
}

TEST_CASE("a GPU: a program may capture a stream while it is opened and closed") {
  Here here;
  int mode = 0;
  api().exchange_capture_mode(&mode);  // the strictest, which a program's thread has
  emulated::begin_capture(here.stream);
  CHECK(CudaDevice::open(api(), 0).status().text() == "OK");
  CHECK(emulated::end_capture(here.stream));
  api().exchange_capture_mode(&mode);
}

TEST_CASE("a GPU: modules that it has loaded are unloaded when it is closed") {
  const ContextScope program(api(), Here::context_of(0));  // the context stays
  const std::uint64_t loaded = emulated::calls("cuModuleLoadData"), unloaded = emulated::calls("cuModuleUnload");
  {
    const auto device = CudaDevice::open(api(), 0);
    REQUIRE(device.status().text() == "OK");
    const std::vector<std::string> cubins = {"one", "another"};
    REQUIRE(CudaModules::load(**device, cubins).status().text() == "OK");
    REQUIRE(emulated::calls("cuModuleLoadData") == loaded + cubins.size());
    CHECK(emulated::calls("cuModuleUnload") == unloaded);
  }
  CHECK(emulated::calls("cuModuleUnload") == unloaded + 2);
}

TEST_CASE("a GPU: too little memory is no failure, and no earlier error is taken for it") {
  const auto device = CudaDevice::open(api(), 0);
  REQUIRE(device.status().text() == "OK");
  emulated::set_device_memory(63);
  CHECK((*device)->allocate(64) == nullptr);
  CHECK((*device)->status().text() == "OK");
  emulated::set_device_memory(~std::size_t{0} / 2);
  emulated::break_device();
  CHECK((*device)->allocate(64) == nullptr);
  emulated::mend_device();
  CHECK((*device)->status().text() ==
        "Unavailable: this host: memory is asked for: an illegal memory access was encountered (CUDA 700)");
}

}  // namespace casync::compll
