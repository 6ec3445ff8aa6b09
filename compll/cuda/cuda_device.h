// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "compll/cuda/cuda_facts.h"
#include "compll/cuda/driver_api.h"
#include "compll/ops/cuda/coding_launch.h"
#include "compll/ops/cuda/launch.h"

namespace casync::compll {

/// One launch whose segments and workspaces are in the device's memory.
struct ReadyLaunch {
  DriverApi::Handle kernel = nullptr;
  cuda::Grid grid;
  cuda::Launch launch;
  std::optional<cuda::CodingLaunch> coding = {};  ///< of a kernel that codes: its argument, and not `launch`
};

/// Formats an error of the driver: its text and its number.
std::string text_of(const DriverApi& api, DriverApi::Code code);

/// The number of devices that the driver shows this process. Unavailable, with the driver's reason: it shows none.
Result<int> count_devices(const DriverApi& api);

/// Queues a launch on a stream of the current context.
DriverApi::Code launch(const DriverApi& api, const ReadyLaunch& ready, DriverApi::Handle stream);

/// A GPU of this machine, which runs one operation after the other, on a stream of its own. Once an operation fails,
/// the device does nothing any more: callers check status() ahead of using a result. Used by one thread at a time.
class CudaDevice {
 public:
  /// Opens the device of this index among those that the driver shows. Unavailable, with the driver's reason: it shows
  /// none, or fewer.
  static Result<std::unique_ptr<CudaDevice>> open(const DriverApi& api, int index = 0);
  ~CudaDevice();
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;

  const DriverApi& api() const { return api_; }
  DriverApi::Handle context() const { return context_; }
  const CudaFacts& facts() const { return facts_; }
  /// The error of the first operation that failed.
  const Status& status() const { return status_; }
  /// Records a failure that the caller found.
  void fail(const std::string& what);
  /// Unloads a module when the device is closed: its context may be the program's, too, and stay.
  void own(DriverApi::Handle module) { modules_.push_back(module); }

  /// Returns nullptr if no memory is left, which is no failure of the device; also once the device has failed.
  std::byte* allocate(std::size_t bytes);
  void free(std::byte* memory);
  void upload(std::byte* to, const void* from, std::size_t bytes);
  void download(void* to, const std::byte* from, std::size_t bytes);
  void copy(std::byte* to, const std::byte* from, std::size_t bytes);
  void fill(std::byte* at, unsigned char value, std::size_t bytes);

  /// The number of blocks of threads that the device runs at a time.
  std::uint32_t blocks_at_once(DriverApi::Handle kernel, std::uint32_t shared_bytes);

  void launch(std::span<const ReadyLaunch> launches);
  /// Launches a kernel that computes sizes, in one thread.
  void launch_one(DriverApi::Handle kernel, void** arguments);
  void wait();

  /// Starts the clock that `end_timing` reads, in seconds.
  void begin_timing();
  double end_timing();

 private:
  explicit CudaDevice(const DriverApi& api) : api_(api) {}
  Status open_device(int index);

  const DriverApi& api_;
  Status status_;
  CudaFacts facts_;
  DriverApi::DeviceId device_ = 0;
  DriverApi::Handle context_ = nullptr, stream_ = nullptr, begin_ = nullptr, end_ = nullptr;
  std::vector<DriverApi::Handle> modules_;
};

}  // namespace casync::compll
