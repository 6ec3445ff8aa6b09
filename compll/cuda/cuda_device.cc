// SPDX-License-Identifier: Apache-2.0
#include "compll/cuda/cuda_device.h"

#include <algorithm>

#include "compll/cuda/context_scope.h"
#include "compll/cuda/device_use.h"

namespace casync::compll {
namespace {

DriverApi::Memory memory_of(const std::byte* at) { return reinterpret_cast<DriverApi::Memory>(at); }

constexpr std::uint32_t kSharedWithoutAsking = 48 << 10;

Status failed(const DriverApi& api, const std::string& what, DriverApi::Code code) {
  return unavailable(what + ": " + text_of(api, code));
}

}  // namespace

std::string text_of(const DriverApi& api, DriverApi::Code code) {
  const char* text = nullptr;
  if (api.error_text(code, &text) != 0 || text == nullptr) text = "an error that it has no text for";
  return std::string(text) + " (CUDA " + std::to_string(code) + ")";
}

DriverApi::Code launch(const DriverApi& api, const ReadyLaunch& ready, DriverApi::Handle stream) {
  const cuda::Grid& grid = ready.grid;
  if (grid.shared_bytes > kSharedWithoutAsking) {
    const auto bytes = static_cast<int>(grid.shared_bytes);
    const auto code = api.set_function_attribute(ready.kernel, DriverApi::kMostShared, bytes);
    if (code != 0) return code;
  }
  cuda::Launch launch = ready.launch;
  std::optional<cuda::CodingLaunch> coding = ready.coding;
  void* arguments[] = {coding ? static_cast<void*>(&*coding) : &launch};
  return api.launch(ready.kernel, grid.blocks, 1, 1, grid.threads, 1, 1, grid.shared_bytes, stream, arguments, nullptr);
}

Result<std::unique_ptr<CudaDevice>> CudaDevice::open(const DriverApi& api, int index) {
  auto device = std::unique_ptr<CudaDevice>(new CudaDevice(api));
  CASYNC_RETURN_IF_ERROR(device->open_device(index));
  return device;
}

Result<int> count_devices(const DriverApi& api) {
  if (const auto code = api.init(0)) return failed(api, "the CUDA driver does not start", code);
  int count = 0;
  if (const auto code = api.device_count(&count)) return failed(api, "the CUDA driver counts no devices", code);
  if (count == 0) return unavailable("the CUDA driver knows of no device");
  return count;
}

Status CudaDevice::open_device(int index) {
  const Result<int> count = count_devices(api_);
  if (!count) return count.status();
  const std::string named = "CUDA device " + std::to_string(index);
  if (index < 0 || index >= *count) return unavailable(named + ": the driver shows " + std::to_string(*count));
  const RelaxedCapture relaxed(api_);
  DriverApi::Code code = api_.device(&device_, index);
  if (code == 0) code = read_facts(api_, device_, facts_);
  if (code == 0) code = api_.retain_context(&context_, device_);
  if (code != 0) return failed(api_, named + " cannot be used", code);
  const ContextScope scope(api_, context_);
  code = scope.code();
  if (code == 0) code = api_.make_stream(&stream_, DriverApi::kNonBlocking, 0);
  if (code == 0) code = api_.make_event(&begin_, 0);
  if (code == 0) code = api_.make_event(&end_, 0);
  return code == 0 ? Status::ok() : failed(api_, named + " cannot be used", code);
}

CudaDevice::~CudaDevice() {
  if (context_ == nullptr) return;
  const RelaxedCapture relaxed(api_);
  {
    const ContextScope scope(api_, context_);
    if (begin_ != nullptr) api_.end_event(begin_);
    if (end_ != nullptr) api_.end_event(end_);
    if (stream_ != nullptr) api_.end_stream(stream_);
    for (const DriverApi::Handle module : modules_) api_.unload_module(module);
  }
  api_.release_context(device_);
}

void CudaDevice::fail(const std::string& what) {
  if (status_) status_ = unavailable(facts_.name + ": " + what);
}

std::byte* CudaDevice::allocate(std::size_t bytes) {
  const DeviceUse use(*this);
  if (!use) return nullptr;
  DriverApi::Memory memory = 0;
  const DriverApi::Code code = api_.allocate(&memory, std::max<std::size_t>(bytes, 1));
  // All other errors are those of earlier operations.
  if (code != DriverApi::kOutOfMemory) use.went_well(code, "memory is asked for");
  return code == 0 ? reinterpret_cast<std::byte*>(memory) : nullptr;
}
void CudaDevice::free(std::byte* memory) {
  if (memory == nullptr) return;
  const DeviceUse use(*this);
  if (use) use.went_well(api_.free(memory_of(memory)), "memory is given back");
}
void CudaDevice::upload(std::byte* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  const DeviceUse use(*this);
  if (use && use.went_well(api_.upload(memory_of(to), from, bytes, stream_), "a copy to the device")) {
    use.went_well(api_.wait_for_stream(stream_), "a copy to the device");
  }
}
void CudaDevice::download(void* to, const std::byte* from, std::size_t bytes) {
  if (bytes == 0) return;
  const DeviceUse use(*this);
  const char* const what = "a kernel, or the copy from the device after it";
  if (use && use.went_well(api_.download(to, memory_of(from), bytes, stream_), what)) {
    use.went_well(api_.wait_for_stream(stream_), what);
  }
}
void CudaDevice::copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  const DeviceUse use(*this);
  if (use) use.went_well(api_.copy(memory_of(to), memory_of(from), bytes, stream_), "a copy on the device");
}
void CudaDevice::fill(std::byte* at, unsigned char value, std::size_t bytes) {
  if (bytes == 0) return;
  const DeviceUse use(*this);
  if (use) use.went_well(api_.fill(memory_of(at), value, bytes, stream_), "memory is filled");
}

std::uint32_t CudaDevice::blocks_at_once(DriverApi::Handle kernel, std::uint32_t shared_bytes) {
  const DeviceUse use(*this);
  int blocks = 0;
  if (!use) return 1;
  use.went_well(api_.blocks_at_once(&blocks, kernel, static_cast<int>(cuda::kThreads), shared_bytes), "occupancy");
  return static_cast<std::uint32_t>(std::max(blocks, 1) * facts_.processors);
}

void CudaDevice::launch(std::span<const ReadyLaunch> launches) {
  const DeviceUse use(*this);
  for (const ReadyLaunch& each : launches) {
    if (!use || !use.went_well(compll::launch(api_, each, stream_), "a launch")) return;
  }
}

void CudaDevice::launch_one(DriverApi::Handle kernel, void** arguments) {
  const DeviceUse use(*this);
  if (use) use.went_well(api_.launch(kernel, 1, 1, 1, 1, 1, 1, 0, stream_, arguments, nullptr), "a launch");
}

void CudaDevice::wait() {
  const DeviceUse use(*this);
  if (use) use.went_well(api_.wait_for_stream(stream_), "a kernel");
}

void CudaDevice::begin_timing() {
  const DeviceUse use(*this);
  if (use) use.went_well(api_.record_event(begin_, stream_), "an event");
}

double CudaDevice::end_timing() {
  const DeviceUse use(*this);
  float milliseconds = 0;
  if (use && use.went_well(api_.record_event(end_, stream_), "an event") &&
      use.went_well(api_.wait_for_stream(stream_), "a kernel")) {
    use.went_well(api_.milliseconds_between(&milliseconds, begin_, end_), "a time");
  }
  return milliseconds / 1e3;
}

}  // namespace casync::compll
