// SPDX-License-Identifier: Apache-2.0
#include "compll/cuda/cuda_device.h"

#include <algorithm>
#include <array>

namespace casync::compll {
namespace {

DriverApi::Memory memory_of(const std::byte* at) { return reinterpret_cast<DriverApi::Memory>(at); }

constexpr std::uint32_t kSharedWithoutAsking = 48 << 10;

}  // namespace

Result<std::unique_ptr<CudaDevice>> CudaDevice::open(const DriverApi& api) {
  auto device = std::unique_ptr<CudaDevice>(new CudaDevice(api));
  CASYNC_RETURN_IF_ERROR(device->open_first());
  return device;
}

Status CudaDevice::open_first() {
  const auto failed = [&](const std::string& what, DriverApi::Code code) {
    return unavailable(what + ": " + text_of(code));
  };
  if (const auto code = api_.init(0)) return failed("the CUDA driver does not start", code);
  int count = 0;
  if (const auto code = api_.device_count(&count)) return failed("the CUDA driver counts no devices", code);
  if (count == 0) return unavailable("the CUDA driver knows of no device");
  std::array<char, 256> name = {};
  int major = 0, minor = 0;
  DriverApi::Code code = api_.device(&device_, 0);
  if (code == 0) code = api_.device_name(name.data(), static_cast<int>(name.size()), device_);
  if (code == 0) code = api_.device_attribute(&major, DriverApi::kMajor, device_);
  if (code == 0) code = api_.device_attribute(&minor, DriverApi::kMinor, device_);
  if (code == 0) code = api_.device_attribute(&processors_, DriverApi::kProcessors, device_);
  name_ = name.data();
  architecture_ = "sm_" + std::to_string(major) + std::to_string(minor);
  if (code == 0) code = api_.retain_context(&context_, device_);
  if (code == 0) code = api_.use_context(context_);
  if (code == 0) code = api_.make_event(&begin_, 0);
  if (code == 0) code = api_.make_event(&end_, 0);
  return code == 0 ? Status::ok() : failed("device 0 cannot be used", code);
}

CudaDevice::~CudaDevice() {
  if (context_ == nullptr) return;
  if (begin_ != nullptr) api_.end_event(begin_);
  if (end_ != nullptr) api_.end_event(end_);
  api_.release_context(device_);
}

std::string CudaDevice::text_of(DriverApi::Code code) const {
  const char* text = nullptr;
  if (api_.error_text(code, &text) != 0 || text == nullptr) text = "an error that it has no text for";
  return std::string(text) + " (CUDA " + std::to_string(code) + ")";
}

bool CudaDevice::went_well(DriverApi::Code code, const char* what) {
  if (code != 0) fail(std::string(what) + ": " + text_of(code));
  return code == 0;
}

void CudaDevice::fail(const std::string& what) {
  if (status_) status_ = unavailable(name_ + ": " + what);
}

/// A context is current in one thread, so each call sets it.
bool CudaDevice::is_usable() { return status_.is_ok() && went_well(api_.use_context(context_), "its context"); }

std::byte* CudaDevice::allocate(std::size_t bytes) {
  DriverApi::Memory memory = 0;
  if (!is_usable() || api_.allocate(&memory, std::max<std::size_t>(bytes, 1)) != 0) return nullptr;
  return reinterpret_cast<std::byte*>(memory);
}
void CudaDevice::free(std::byte* memory) {
  if (memory != nullptr && is_usable()) went_well(api_.free(memory_of(memory)), "memory is given back");
}
void CudaDevice::upload(std::byte* to, const void* from, std::size_t bytes) {
  if (bytes != 0 && is_usable()) went_well(api_.upload(memory_of(to), from, bytes), "a copy to the device");
}
void CudaDevice::download(void* to, const std::byte* from, std::size_t bytes) {
  if (bytes == 0 || !is_usable()) return;
  went_well(api_.download(to, memory_of(from), bytes), "a kernel, or the copy from the device behind it");
}
void CudaDevice::copy(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (is_usable()) went_well(api_.copy(memory_of(to), memory_of(from), bytes, nullptr), "a copy on the device");
}
void CudaDevice::fill(std::byte* at, unsigned char value, std::size_t bytes) {
  if (bytes != 0 && is_usable()) went_well(api_.fill(memory_of(at), value, bytes), "memory is filled");
}

Result<CudaModules> CudaDevice::load(std::span<const std::string> cubins) {
  CudaModules modules;
  for (const std::string& cubin : cubins) {
    if (!is_usable()) return status_;
    const DriverApi::Code code = api_.load_module(&modules.emplace_back(), cubin.data());
    if (code != 0) return unavailable(name_ + ": the driver does not load the kernels: " + text_of(code));
  }
  return modules;
}

Result<DriverApi::Handle> CudaDevice::kernel(const CudaModules& modules, const std::string& name) {
  DriverApi::Code code = 0;
  for (const DriverApi::Handle module : modules) {
    DriverApi::Handle kernel = nullptr;
    if (!is_usable()) return status_;
    code = api_.function(&kernel, module, name.c_str());
    if (code == 0) return kernel;
  }
  return unavailable(name_ + ": kernel " + name + ": " + text_of(code));
}

std::uint32_t CudaDevice::blocks_at_once(DriverApi::Handle kernel, std::uint32_t shared_bytes) {
  int blocks = 0;
  if (!is_usable()) return 1;
  went_well(api_.blocks_at_once(&blocks, kernel, static_cast<int>(cuda::kThreads), shared_bytes), "occupancy");
  return static_cast<std::uint32_t>(std::max(blocks, 1) * processors_);
}

void CudaDevice::launch(std::span<const ReadyLaunch> launches) {
  for (const ReadyLaunch& each : launches) {
    if (!is_usable()) return;
    const cuda::Grid& grid = each.grid;
    if (grid.shared_bytes > kSharedWithoutAsking) {
      const auto bytes = static_cast<int>(grid.shared_bytes);
      went_well(api_.set_function_attribute(each.kernel, DriverApi::kMostShared, bytes), "shared memory");
    }
    cuda::Launch launch = each.launch;
    void* arguments[] = {&launch};
    went_well(
        api_.launch(each.kernel, grid.blocks, 1, 1, grid.threads, 1, 1, grid.shared_bytes, nullptr, arguments, nullptr),
        "a launch");
  }
}

void CudaDevice::launch_one(DriverApi::Handle kernel, void** arguments) {
  if (is_usable()) went_well(api_.launch(kernel, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr), "a launch");
}

void CudaDevice::wait() {
  if (is_usable()) went_well(api_.wait_for_all(), "a kernel");
}

void CudaDevice::begin_timing() {
  if (is_usable()) went_well(api_.record_event(begin_, nullptr), "an event");
}

double CudaDevice::end_timing() {
  float milliseconds = 0;
  if (is_usable() && went_well(api_.record_event(end_, nullptr), "an event") &&
      went_well(api_.wait_for_event(end_), "a kernel")) {
    went_well(api_.milliseconds_between(&milliseconds, begin_, end_), "a time");
  }
  return milliseconds / 1e3;
}

}  // namespace casync::compll
