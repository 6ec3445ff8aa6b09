// SPDX-License-Identifier: Apache-2.0
#include "compll/cuda/cuda_device.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "compll/cuda/context_scope.h"

namespace casync::compll {
namespace {

DriverApi::Memory memory_of(const std::byte* at) { return reinterpret_cast<DriverApi::Memory>(at); }

constexpr std::uint32_t kSharedWithoutAsking = 48 << 10;

Status failed(const DriverApi& api, const std::string& what, DriverApi::Code code) {
  return unavailable(what + ": " + text_of(api, code));
}

/// "0000:3b:00.0"; empty: the driver does not say.
std::string address_on_bus(const DriverApi& api, DriverApi::DeviceId device) {
  int domain = 0, bus = 0, slot = 0;
  const bool known = api.device_attribute(&domain, DriverApi::kPciDomain, device) == 0 &&
                     api.device_attribute(&bus, DriverApi::kPciBus, device) == 0 &&
                     api.device_attribute(&slot, DriverApi::kPciDevice, device) == 0;
  if (!known) return {};
  std::array<char, 32> text = {};
  std::snprintf(text.data(), text.size(), "%04x:%02x:%02x.0", domain, bus, slot);
  return text.data();
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

/// The device's context on the calling thread. False: the device has failed, or fails now.
class CudaDevice::Use {
 public:
  explicit Use(CudaDevice& device)
      : scope_(device.api_, device.context_),
        ok_(device.status_.is_ok() && device.went_well(scope_.code(), "its context")) {}
  explicit operator bool() const { return ok_; }

 private:
  ContextScope scope_;
  bool ok_;
};

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
  std::array<char, 256> name = {};
  int major = 0, minor = 0;
  DriverApi::Code code = api_.device(&device_, index);
  if (code == 0) code = api_.device_name(name.data(), static_cast<int>(name.size()), device_);
  if (code == 0) code = api_.device_attribute(&major, DriverApi::kMajor, device_);
  if (code == 0) code = api_.device_attribute(&minor, DriverApi::kMinor, device_);
  if (code == 0) code = api_.device_attribute(&processors_, DriverApi::kProcessors, device_);
  name_ = name.data();
  architecture_ = "sm_" + std::to_string(major) + std::to_string(minor);
  if (code == 0) bus_address_ = address_on_bus(api_, device_);
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
  {
    const ContextScope scope(api_, context_);
    if (begin_ != nullptr) api_.end_event(begin_);
    if (end_ != nullptr) api_.end_event(end_);
    if (stream_ != nullptr) api_.end_stream(stream_);
  }
  api_.release_context(device_);
}

bool CudaDevice::went_well(DriverApi::Code code, const char* what) {
  if (code != 0) fail(std::string(what) + ": " + text_of(api_, code));
  return code == 0;
}

void CudaDevice::fail(const std::string& what) {
  if (status_) status_ = unavailable(name_ + ": " + what);
}

std::byte* CudaDevice::allocate(std::size_t bytes) {
  const Use use(*this);
  DriverApi::Memory memory = 0;
  if (!use || api_.allocate(&memory, std::max<std::size_t>(bytes, 1)) != 0) return nullptr;
  return reinterpret_cast<std::byte*>(memory);
}
void CudaDevice::free(std::byte* memory) {
  if (memory == nullptr) return;
  const Use use(*this);
  if (use) went_well(api_.free(memory_of(memory)), "memory is given back");
}
void CudaDevice::upload(std::byte* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  const Use use(*this);
  if (use && went_well(api_.upload(memory_of(to), from, bytes, stream_), "a copy to the device")) {
    went_well(api_.wait_for_stream(stream_), "a copy to the device");
  }
}
void CudaDevice::download(void* to, const std::byte* from, std::size_t bytes) {
  if (bytes == 0) return;
  const Use use(*this);
  const char* const what = "a kernel, or the copy from the device after it";
  if (use && went_well(api_.download(to, memory_of(from), bytes, stream_), what)) {
    went_well(api_.wait_for_stream(stream_), what);
  }
}
void CudaDevice::copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  const Use use(*this);
  if (use) went_well(api_.copy(memory_of(to), memory_of(from), bytes, stream_), "a copy on the device");
}
void CudaDevice::fill(std::byte* at, unsigned char value, std::size_t bytes) {
  if (bytes == 0) return;
  const Use use(*this);
  if (use) went_well(api_.fill(memory_of(at), value, bytes, stream_), "memory is filled");
}

Result<CudaModules> CudaDevice::load(std::span<const std::string> cubins) {
  CudaModules modules;
  for (const std::string& cubin : cubins) {
    const Use use(*this);
    if (!use) return status_;
    const DriverApi::Code code = api_.load_module(&modules.emplace_back(), cubin.data());
    if (code != 0) return unavailable(name_ + ": the driver does not load the kernels: " + text_of(api_, code));
  }
  return modules;
}

Result<DriverApi::Handle> CudaDevice::kernel(const CudaModules& modules, const std::string& name) {
  DriverApi::Code code = 0;
  for (const DriverApi::Handle module : modules) {
    DriverApi::Handle kernel = nullptr;
    const Use use(*this);
    if (!use) return status_;
    code = api_.function(&kernel, module, name.c_str());
    if (code == 0) return kernel;
  }
  return unavailable(name_ + ": kernel " + name + ": " + text_of(api_, code));
}

std::uint32_t CudaDevice::blocks_at_once(DriverApi::Handle kernel, std::uint32_t shared_bytes) {
  const Use use(*this);
  int blocks = 0;
  if (!use) return 1;
  went_well(api_.blocks_at_once(&blocks, kernel, static_cast<int>(cuda::kThreads), shared_bytes), "occupancy");
  return static_cast<std::uint32_t>(std::max(blocks, 1) * processors_);
}

void CudaDevice::launch(std::span<const ReadyLaunch> launches) {
  const Use use(*this);
  for (const ReadyLaunch& each : launches) {
    if (!use || !went_well(compll::launch(api_, each, stream_), "a launch")) return;
  }
}

void CudaDevice::launch_one(DriverApi::Handle kernel, void** arguments) {
  const Use use(*this);
  if (use) went_well(api_.launch(kernel, 1, 1, 1, 1, 1, 1, 0, stream_, arguments, nullptr), "a launch");
}

void CudaDevice::wait() {
  const Use use(*this);
  if (use) went_well(api_.wait_for_stream(stream_), "a kernel");
}

void CudaDevice::begin_timing() {
  const Use use(*this);
  if (use) went_well(api_.record_event(begin_, stream_), "an event");
}

double CudaDevice::end_timing() {
  const Use use(*this);
  float milliseconds = 0;
  if (use && went_well(api_.record_event(end_, stream_), "an event") &&
      went_well(api_.wait_for_stream(stream_), "a kernel")) {
    went_well(api_.milliseconds_between(&milliseconds, begin_, end_), "a time");
  }
  return milliseconds / 1e3;
}

}  // namespace casync::compll
