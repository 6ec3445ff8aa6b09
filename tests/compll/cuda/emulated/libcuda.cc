// SPDX-License-Identifier: Apache-2.0
//
// The emulated driver under the names that CUDA's driver exports: a program that opens libcuda.so.1 from this folder
// has a GPU. EMULATED_DEVICES sets the number of devices, by default 1, and EMULATED_CUDA the version that the driver
// knows, such as 12000.
#include <cstdlib>

#include "compll/cuda/driver_api.h"
#include "tests/compll/cuda/emulated/driver.h"

#define CASYNC_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using Api = casync::compll::DriverApi;
using Code = Api::Code;
using Handle = Api::Handle;
using Memory = Api::Memory;

const Api& api() {
  static const char* const devices = std::getenv("EMULATED_DEVICES");
  if (devices != nullptr) casync::compll::emulated::set_device_count(std::atoi(devices));
  static const char* const version = std::getenv("EMULATED_CUDA");
  if (version != nullptr) casync::compll::emulated::set_cuda_version(std::atoi(version));
  return casync::compll::emulated::driver();
}

}  // namespace

CASYNC_EXPORT Code cuInit(unsigned flags) { return api().init(flags); }
CASYNC_EXPORT Code cuDriverGetVersion(int* version) { return api().version(version); }
CASYNC_EXPORT Code cuGetErrorString(Code error, const char** text) { return api().error_text(error, text); }
CASYNC_EXPORT Code cuDeviceGetCount(int* count) { return api().device_count(count); }
CASYNC_EXPORT Code cuDeviceGet(int* device, int index) { return api().device(device, index); }
CASYNC_EXPORT Code cuDeviceGetName(char* name, int size, int device) { return api().device_name(name, size, device); }
CASYNC_EXPORT Code cuDeviceGetAttribute(int* value, int attribute, int device) {
  return api().device_attribute(value, attribute, device);
}
CASYNC_EXPORT Code cuDevicePrimaryCtxRetain(Handle* context, int device) {
  return api().retain_context(context, device);
}
CASYNC_EXPORT Code cuDevicePrimaryCtxRelease_v2(int device) { return api().release_context(device); }
CASYNC_EXPORT Code cuCtxPushCurrent_v2(Handle context) { return api().push_context(context); }
CASYNC_EXPORT Code cuCtxPopCurrent_v2(Handle* context) { return api().pop_context(context); }
CASYNC_EXPORT Code cuThreadExchangeStreamCaptureMode(int* mode) { return api().exchange_capture_mode(mode); }
CASYNC_EXPORT Code cuModuleLoadData(Handle* module, const void* image) { return api().load_module(module, image); }
CASYNC_EXPORT Code cuModuleUnload(Handle module) { return api().unload_module(module); }
CASYNC_EXPORT Code cuModuleGetFunction(Handle* function, Handle module, const char* name) {
  return api().function(function, module, name);
}
CASYNC_EXPORT Code cuFuncSetAttribute(Handle function, int attribute, int value) {
  return api().set_function_attribute(function, attribute, value);
}
CASYNC_EXPORT Code cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Handle function, int threads,
                                                               std::size_t shared_bytes) {
  return api().blocks_at_once(blocks, function, threads, shared_bytes);
}
CASYNC_EXPORT Code cuLaunchKernel(Handle function, unsigned x, unsigned y, unsigned z, unsigned block_x,
                                  unsigned block_y, unsigned block_z, unsigned shared_bytes, Handle stream,
                                  void** arguments, void** extra) {
  return api().launch(function, x, y, z, block_x, block_y, block_z, shared_bytes, stream, arguments, extra);
}
CASYNC_EXPORT Code cuMemAlloc_v2(Memory* memory, std::size_t bytes) { return api().allocate(memory, bytes); }
CASYNC_EXPORT Code cuMemFree_v2(Memory memory) { return api().free(memory); }
CASYNC_EXPORT Code cuMemHostAlloc(void** memory, std::size_t bytes, unsigned flags) {
  return api().allocate_pinned(memory, bytes, flags);
}
CASYNC_EXPORT Code cuMemFreeHost(void* memory) { return api().free_pinned(memory); }
CASYNC_EXPORT Code cuPointerGetAttribute(void* value, int attribute, Memory pointer) {
  return api().pointer_attribute(value, attribute, pointer);
}
CASYNC_EXPORT Code cuMemcpyHtoDAsync_v2(Memory to, const void* from, std::size_t bytes, Handle stream) {
  return api().upload(to, from, bytes, stream);
}
CASYNC_EXPORT Code cuMemcpyDtoHAsync_v2(void* to, Memory from, std::size_t bytes, Handle stream) {
  return api().download(to, from, bytes, stream);
}
CASYNC_EXPORT Code cuMemcpyDtoDAsync_v2(Memory to, Memory from, std::size_t bytes, Handle stream) {
  return api().copy(to, from, bytes, stream);
}
CASYNC_EXPORT Code cuMemsetD8Async(Memory at, unsigned char value, std::size_t bytes, Handle stream) {
  return api().fill(at, value, bytes, stream);
}
CASYNC_EXPORT Code cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return api().stream_priorities(least, greatest);
}
CASYNC_EXPORT Code cuStreamCreateWithPriority(Handle* stream, unsigned flags, int priority) {
  return api().make_stream(stream, flags, priority);
}
CASYNC_EXPORT Code cuStreamDestroy_v2(Handle stream) { return api().end_stream(stream); }
CASYNC_EXPORT Code cuStreamSynchronize(Handle stream) { return api().wait_for_stream(stream); }
CASYNC_EXPORT Code cuStreamWaitEvent(Handle stream, Handle event, unsigned flags) {
  return api().wait_in_stream(stream, event, flags);
}
CASYNC_EXPORT Code cuStreamIsCapturing(Handle stream, int* status) { return api().is_capturing(stream, status); }
CASYNC_EXPORT Code cuLaunchHostFunc(Handle stream, Api::HostFunction function, void* user) {
  return api().call_host(stream, function, user);
}
CASYNC_EXPORT Code cuEventCreate(Handle* event, unsigned flags) { return api().make_event(event, flags); }
CASYNC_EXPORT Code cuEventDestroy_v2(Handle event) { return api().end_event(event); }
CASYNC_EXPORT Code cuEventRecord(Handle event, Handle stream) { return api().record_event(event, stream); }
CASYNC_EXPORT Code cuEventQuery(Handle event) { return api().query_event(event); }
CASYNC_EXPORT Code cuEventElapsedTime(float* milliseconds, Handle begin, Handle end) {
  return api().milliseconds_between(milliseconds, begin, end);
}
// NVRTC asks the driver for more than its interface has, and takes no for an answer.
CASYNC_EXPORT Code cuGetExportTable(const void**, const void*) { return 500; }
