// SPDX-License-Identifier: Apache-2.0
#include "compll/cuda/driver.h"

#include <dlfcn.h>

#include <string>
#include <type_traits>

namespace casync::compll {
namespace {

constexpr const char* kLibrary = "libcuda.so.1";

Result<DriverApi> load() {
  void* const library = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return unavailable(std::string("there is no CUDA driver: ") + ::dlerror());
  std::string missing;
  const auto take = [&](const char* name, auto& function) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
    if (function == nullptr) missing += (missing.empty() ? "" : ", ") + std::string(name);
  };
  DriverApi api;
  take("cuInit", api.init);
  take("cuDriverGetVersion", api.version);
  take("cuGetErrorString", api.error_text);
  take("cuDeviceGetCount", api.device_count);
  take("cuDeviceGet", api.device);
  take("cuDeviceGetName", api.device_name);
  take("cuDeviceGetAttribute", api.device_attribute);
  take("cuDevicePrimaryCtxRetain", api.retain_context);
  take("cuDevicePrimaryCtxRelease_v2", api.release_context);
  take("cuCtxPushCurrent_v2", api.push_context);
  take("cuCtxPopCurrent_v2", api.pop_context);
  take("cuThreadExchangeStreamCaptureMode", api.exchange_capture_mode);
  take("cuModuleLoadData", api.load_module);
  take("cuModuleUnload", api.unload_module);
  take("cuModuleGetFunction", api.function);
  take("cuFuncSetAttribute", api.set_function_attribute);
  take("cuOccupancyMaxActiveBlocksPerMultiprocessor", api.blocks_at_once);
  take("cuLaunchKernel", api.launch);
  take("cuMemAlloc_v2", api.allocate);
  take("cuMemFree_v2", api.free);
  take("cuMemHostAlloc", api.allocate_pinned);
  take("cuMemFreeHost", api.free_pinned);
  take("cuPointerGetAttribute", api.pointer_attribute);
  take("cuMemcpyHtoDAsync_v2", api.upload);
  take("cuMemcpyDtoHAsync_v2", api.download);
  take("cuMemcpyDtoDAsync_v2", api.copy);
  take("cuMemsetD8Async", api.fill);
  take("cuCtxGetStreamPriorityRange", api.stream_priorities);
  take("cuStreamCreateWithPriority", api.make_stream);
  take("cuStreamDestroy_v2", api.end_stream);
  take("cuStreamSynchronize", api.wait_for_stream);
  take("cuStreamWaitEvent", api.wait_in_stream);
  take("cuStreamIsCapturing", api.is_capturing);
  take("cuLaunchHostFunc", api.call_host);
  take("cuEventCreate", api.make_event);
  take("cuEventDestroy_v2", api.end_event);
  take("cuEventRecord", api.record_event);
  take("cuEventQuery", api.query_event);
  take("cuEventElapsedTime", api.milliseconds_between);
  if (missing.empty()) return api;
  ::dlclose(library);
  return unavailable(std::string("the CUDA driver ") + kLibrary + " is too old: it lacks " + missing);
}

}  // namespace

Result<const DriverApi*> find_driver() {
  static const auto* const found = new Result<DriverApi>(load());  // outlives all other statics
  if (!*found) return found->status();
  return &**found;
}

}  // namespace casync::compll
