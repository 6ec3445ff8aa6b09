// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/cuda/emulated/driver.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "compll/ops/cuda/launch.h"
#include "tests/compll/cuda/emulated/functions.h"
#include "tests/compll/cuda/emulated/launch.h"
#include "tests/compll/cuda/emulated/memory.h"
#include "tests/compll/cuda/emulated/reach.h"
#include "tests/compll/cuda/emulated/streams.h"

namespace casync::compll::emulated {

namespace {

using Code = DriverApi::Code;
using Handle = DriverApi::Handle;
using Memory = DriverApi::Memory;

constexpr Code kNoDevice = 100, kNoSuchDevice = 101, kNotFound = 500;
constexpr int kMostShared = 227 << 10;  ///< bytes of shared memory that a kernel can ask for: compute capability 9.0

int devices = 1, processors = 3, cuda_version = 13000;
std::atomic<Order> order{Order::kForward};
std::atomic<std::size_t> slow_bytes{0};  ///< of a copy to the host that takes slow_ms
std::atomic<int> slow_ms{0};
std::atomic<int> kernels_left{-1};  ///< until one faults; below 0: none does

/// Calls of each function so far.
std::map<std::string, std::uint64_t, std::less<>>& counts() {
  static auto& all = *new std::map<std::string, std::uint64_t, std::less<>>;
  return all;
}
std::mutex counts_mutex;
void count(const char* name) {
  const std::lock_guard lock(counts_mutex);
  ++counts()[name];
}

/// Device `i`'s context is the address of the i-th of these. Each thread has a stack of those that it made current.
char contexts[kMostDevices];
thread_local std::vector<Handle> current;
thread_local bool in_host_function = false;  ///< of a stream
int device_here() { return static_cast<int>(static_cast<char*>(current.back()) - contexts); }

/// The device whose context is the calling thread's, and the error of a call by this name.
struct Call {
  /// `may_wait`: it ends captures.
  explicit Call(const char* name, bool may_wait = false) : code(error()) {
    count(name);
    if (in_host_function) {
      code = kNotPermitted;
    } else if (current.empty()) {
      code = kNoContext;
    } else {
      device = device_here();
      if (code == 0 && may_wait) code = end_captures();
    }
  }
  Code code = 0;
  int device = 0;
};

template <class T>
T* pointer(Memory memory) {
  return reinterpret_cast<T*>(memory);
}

Code error_text(Code error, const char** text) {
  *text = error == kNoDevice                 ? "no CUDA-capable device is detected"
          : error == kNoSuchDevice           ? "invalid device ordinal"
          : error == kNotFound               ? "named symbol not found"
          : error == kIllegalAccess          ? "an illegal memory access was encountered"
          : error == kInvalidHandle          ? "invalid resource handle"
          : error == kInvalidValue           ? "invalid argument"
          : error == kNoContext              ? "invalid device context"
          : error == kNotPermitted           ? "operation not permitted"
          : error == kCaptureUnsupported     ? "operation not permitted when stream is capturing"
          : error == DriverApi::kOutOfMemory ? "out of memory"
                                             : "unknown error";
  return 0;
}
Code init(unsigned) { return devices == 0 ? kNoDevice : 0; }
Code version(int* version) { return *version = cuda_version, 0; }
Code device_count(int* count) { return *count = devices, 0; }
Code device(DriverApi::DeviceId* id, int index) { return *id = index, index < devices ? 0 : kNoSuchDevice; }
Code device_name(char* name, int size, DriverApi::DeviceId) {
  std::snprintf(name, static_cast<std::size_t>(size), "this host");
  return 0;
}
Code device_attribute(int* value, int attribute, DriverApi::DeviceId id) {
  switch (attribute) {
    case DriverApi::kMajor: *value = 9; break;
    case DriverApi::kMinor:
    case DriverApi::kPciDomain: *value = 0; break;
    case DriverApi::kPciBus: *value = 0x3a + id; break;
    case DriverApi::kProcessors: *value = processors; break;
    default: *value = 3;
  }
  return 0;
}
Code retain_context(Handle* context, DriverApi::DeviceId device) {
  *context = &contexts[device];
  return end_captures();
}
Code release_context(DriverApi::DeviceId) { return end_captures(); }
Code push_context(Handle context) {
  current.push_back(context);
  return 0;
}
Code pop_context(Handle* context) {
  if (current.empty()) return kNoContext;
  *context = current.back();
  current.pop_back();
  return 0;
}

Code load_module(Handle* module, const void*) {
  static auto& all = *new std::array<Functions, kMostDevices>(functions_by_device());
  const Call call("cuModuleLoadData", true);
  *module = &all[static_cast<std::size_t>(call.device)];
  return call.code;
}
Code unload_module(Handle) { return Call("cuModuleUnload", true).code; }
Code function(Handle* function, Handle module, const char* name) {
  const Call call("cuModuleGetFunction");
  if (call.code != 0) return call.code;
  auto& all = *static_cast<Functions*>(module);
  const auto found = all.find(name);
  if (found == all.end()) return kNotFound;
  *function = &found->second;
  return 0;
}
Code set_function_attribute(Handle function, int attribute, int value) {
  const Call call("cuFuncSetAttribute");
  if (call.code != 0) return call.code;
  if (attribute != DriverApi::kMostShared || value < 0 || value > kMostShared) return kInvalidValue;
  static_cast<Function*>(function)->most_shared = value;
  return 0;
}
Code blocks_at_once(int* blocks, Handle, int, std::size_t) {
  return *blocks = 1, Call("cuOccupancyMaxActiveBlocksPerMultiprocessor").code;
}

/// Runs a kernel with its argument, as run() does. A kernel of a device faults where it is given other memory.
template <class Run, class Argument>
void run_if_reached(const Run& run, const Argument& argument, int device) {
  const char* const stray = stray_member(argument, device);
  if (stray == nullptr) return run(argument);
  std::fprintf(stderr, "emulated driver: `%s` of a kernel's arguments is no memory of device %d\n", stray, device);
  set_error(kIllegalAccess);
}

/// One kernel at a time: fibres have one machine.
void run_kernel(const std::function<void()>& kernel) {
  static std::mutex machine;
  const std::lock_guard lock(machine);
  if (kernels_left == 0) return set_error(kIllegalAccess);
  if (kernels_left > 0) --kernels_left;
  kernel();
}

Code launch_kernel(Handle function, unsigned grid, unsigned, unsigned, unsigned threads, unsigned, unsigned,
                   unsigned shared_bytes, Handle stream, void** arguments, void**) {
  const Call call("cuLaunchKernel");
  if (call.code != 0) return call.code;
  const auto& called = *static_cast<Function*>(function);
  if (called.device != call.device) return kInvalidHandle;
  if (grid == 0 || threads == 0 || threads > 1024) return kInvalidValue;
  if (shared_bytes > static_cast<unsigned>(called.most_shared)) return kInvalidValue;
  std::function<void()> kernel;
  if (called.sizes != nullptr) {
    kernel = [sizes = called.sizes, told = *static_cast<cuda::Sizes**>(arguments[0]),
              of = *static_cast<cuda::Matrix*>(arguments[1]),
              settings = *static_cast<cuda::Settings*>(arguments[2])] { sizes(told, of, settings); };
  } else if (called.coding != nullptr) {
    kernel = [run = called.coding, size = cuda::Grid{grid, threads, shared_bytes}, device = call.device,
              argument = *static_cast<cuda::CodingLaunch*>(arguments[0])] {
      const auto all = [&](const cuda::CodingLaunch& one) { launch([&] { run(one); }, size, order); };
      run_if_reached(all, argument, device);
    };
  } else {
    kernel = [run = called.kernel, size = cuda::Grid{grid, threads, shared_bytes}, device = call.device,
              argument = *static_cast<cuda::Launch*>(arguments[0])] {
      const auto all = [&](const cuda::Launch& one) { launch(run, size, one, order); };
      run_if_reached(all, argument, device);
    };
  }
  return enqueue(stream, call.device, [kernel] { run_kernel(kernel); });
}

Code allocate(Memory* memory, std::size_t bytes) {
  const Call call("cuMemAlloc_v2", true);
  return call.code != 0 ? call.code : take_device_memory(memory, bytes, call.device);
}
Code free_memory(Memory memory) {
  const Call call("cuMemFree_v2", true);
  return call.code != 0 ? call.code : give_back_device_memory(memory);
}
Code allocate_pinned(void** memory, std::size_t bytes, unsigned) {
  const Call call("cuMemHostAlloc", true);
  return call.code != 0 ? call.code : take_pinned(memory, bytes);
}
Code free_pinned(void* memory) {
  const Call call("cuMemFreeHost", true);
  return call.code != 0 ? call.code : give_back_pinned(memory);
}
Code pointer_attribute(void* value, int attribute, Memory at) {
  const Call call("cuPointerGetAttribute");
  if (call.code != 0) return call.code;
  const std::optional<int> device = device_of(at, 1);
  if (!device && !is_pinned(pointer<void>(at), 1)) return kInvalidValue;
  const int kind = device ? DriverApi::kDeviceMemory : DriverApi::kHostMemory;
  *static_cast<int*>(value) = attribute == DriverApi::kOrdinal ? device.value_or(call.device) : kind;
  return 0;
}

Code upload(Memory to, const void* from, std::size_t bytes, Handle stream) {
  const Call call("cuMemcpyHtoDAsync_v2");
  if (call.code != 0) return call.code;
  if (device_of(to, bytes) != call.device) return kInvalidValue;
  if (is_pinned(from, bytes)) {
    return enqueue(stream, call.device, [=] { std::memcpy(pointer<void>(to), from, bytes); });
  }
  count("pageable copy");  // taken at once
  const auto* const first = static_cast<const std::byte*>(from);
  return enqueue(stream, call.device, [to, taken = std::vector<std::byte>(first, first + bytes)] {
    std::memcpy(pointer<void>(to), taken.data(), taken.size());
  });
}
Code download(void* to, Memory from, std::size_t bytes, Handle stream) {
  const Call call("cuMemcpyDtoHAsync_v2");
  if (call.code != 0) return call.code;
  if (device_of(from, bytes) != call.device) return kInvalidValue;
  const Code code = enqueue(stream, call.device, [=] {
    if (bytes == slow_bytes) std::this_thread::sleep_for(std::chrono::milliseconds(slow_ms));
    std::memcpy(to, pointer<void>(from), bytes);
  });
  if (code != 0 || is_pinned(to, bytes)) return code;
  count("pageable copy");
  return wait_for(stream);
}
Code copy(Memory to, Memory from, std::size_t bytes, Handle stream) {
  const Call call("cuMemcpyDtoDAsync_v2");
  if (call.code != 0) return call.code;
  if (!device_of(to, bytes) || !device_of(from, bytes)) return kInvalidValue;
  return enqueue(stream, call.device, [=] { std::memcpy(pointer<void>(to), pointer<void>(from), bytes); });
}
Code fill(Memory at, unsigned char value, std::size_t bytes, Handle stream) {
  const Call call("cuMemsetD8Async");
  if (call.code != 0) return call.code;
  if (device_of(at, bytes) != call.device) return kInvalidValue;
  return enqueue(stream, call.device, [=] { std::memset(pointer<void>(at), value, bytes); });
}

Code stream_priorities(int* least, int* greatest) {
  return *least = 0, *greatest = -5, Call("cuCtxGetStreamPriorityRange").code;
}
Code make_stream_here(Handle* stream, unsigned, int) {
  const Call call("cuStreamCreateWithPriority");
  if (call.code == 0) *stream = make_stream(call.device);
  return call.code;
}
Code end_stream_here(Handle stream) {
  const Call call("cuStreamDestroy_v2");
  end_stream(stream);
  return call.code;
}
Code wait_for_stream(Handle stream) {
  const Call call("cuStreamSynchronize", true);
  return call.code != 0 ? call.code : wait_for(stream);
}
Code wait_in_stream(Handle stream, Handle event, unsigned) {
  const Call call("cuStreamWaitEvent");
  return call.code != 0 ? call.code : wait_in(stream, event, call.device);
}
Code is_capturing_here(Handle stream, int* status) {
  const Call call("cuStreamIsCapturing");
  return call.code != 0 ? call.code : is_capturing(stream, status);
}
Code call_host(Handle stream, DriverApi::HostFunction function, void* user) {
  const Call call("cuLaunchHostFunc");
  if (call.code != 0) return call.code;
  return enqueue(stream, call.device, [=] {
    in_host_function = true;
    function(user);
    in_host_function = false;
  });
}

Code make_event_here(Handle* event, unsigned flags) {
  const Call call("cuEventCreate");
  if (call.code == 0) *event = make_event(call.device, (flags & DriverApi::kWithoutTiming) == 0);
  return call.code;
}
Code end_event_here(Handle event) {
  const Call call("cuEventDestroy_v2");
  end_event(event);
  return call.code;
}
Code record_event(Handle event, Handle stream) {
  const Call call("cuEventRecord");
  return call.code != 0 ? call.code : record(event, stream, call.device);
}
Code query_event(Handle event) {
  const Call call("cuEventQuery", true);
  return call.code != 0 ? call.code : query(event);
}
Code time_between(float* milliseconds, Handle begin, Handle end) {
  const Call call("cuEventElapsedTime");
  return call.code != 0 ? call.code : milliseconds_between(milliseconds, begin, end);
}

}  // namespace

const DriverApi& driver() {
  static const DriverApi api = {.init = init,
                                .version = version,
                                .error_text = error_text,
                                .device_count = device_count,
                                .device = device,
                                .device_name = device_name,
                                .device_attribute = device_attribute,
                                .retain_context = retain_context,
                                .release_context = release_context,
                                .push_context = push_context,
                                .pop_context = pop_context,
                                .exchange_capture_mode = exchange_capture_mode,
                                .load_module = load_module,
                                .unload_module = unload_module,
                                .function = function,
                                .set_function_attribute = set_function_attribute,
                                .blocks_at_once = blocks_at_once,
                                .launch = launch_kernel,
                                .allocate = allocate,
                                .free = free_memory,
                                .allocate_pinned = allocate_pinned,
                                .free_pinned = free_pinned,
                                .pointer_attribute = pointer_attribute,
                                .upload = upload,
                                .download = download,
                                .copy = copy,
                                .fill = fill,
                                .stream_priorities = stream_priorities,
                                .make_stream = make_stream_here,
                                .end_stream = end_stream_here,
                                .wait_for_stream = wait_for_stream,
                                .wait_in_stream = wait_in_stream,
                                .is_capturing = is_capturing_here,
                                .call_host = call_host,
                                .make_event = make_event_here,
                                .end_event = end_event_here,
                                .record_event = record_event,
                                .query_event = query_event,
                                .milliseconds_between = time_between};
  return api;
}

void break_device() { set_error(kIllegalAccess); }
void break_after_kernels(int kernels) { kernels_left = kernels; }
void mend_device() {
  kernels_left = -1;
  set_error(0);
}
void set_device_count(int count) { devices = count; }
void set_cuda_version(int version) { cuda_version = version; }
void set_processors(int count) { processors = count; }
void set_order(Order wanted) { order = wanted; }
void slow_down_copies(std::size_t bytes, int milliseconds) {
  slow_ms = milliseconds;
  slow_bytes = bytes;
}

std::uint64_t calls(std::string_view function) {
  const std::lock_guard lock(counts_mutex);
  const auto found = counts().find(function);
  return found == counts().end() ? 0 : found->second;
}

}  // namespace casync::compll::emulated
