// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/units.h"
#include "tests/compll/cuda/support/device.h"

namespace casync::compll::test {

/// The GPU of this machine.
class CudaDevice final : public KernelDevice {
 public:
  /// With so much memory, or half of what is free. Nothing, and why in `reason`: there is no GPU, or no driver for it.
  static std::unique_ptr<CudaDevice> open(std::size_t bytes, std::string& reason);
  ~CudaDevice() override;

  std::byte* allocate(std::size_t bytes) override;
  void reset() override { used_ = 0; }
  void upload(std::byte* to, const void* from, std::size_t bytes) override;
  void download(void* to, const std::byte* from, std::size_t bytes) override;
  void fill(std::byte* at, unsigned char value, std::size_t bytes) override;
  std::uint32_t blocks_at_once(cuda::Kernel kernel) override;
  void launch(cuda::Kernel kernel, const cuda::Grid& grid, const cuda::Launch& launch) override;

  void copy(std::byte* to, const std::byte* from, std::size_t bytes);
  /// Waits until all is done. A kernel that failed ends the program with the reason.
  void wait();
  const std::string& name() const { return name_; }

  /// Seconds that `run` takes on the device, the median of several times.
  template <class Run>
  double seconds(const Run& run);

 private:
  CudaDevice() = default;
  void begin_timing();
  double end_timing();

  std::string name_;
  std::byte* memory_ = nullptr;
  std::size_t size_ = 0, used_ = 0;
  int processors_ = 0;
  void* begin_ = nullptr;  ///< events
  void* end_ = nullptr;
};

/// Memory of n elements of this type, with these values one time after the other, or with any if there are none.
std::byte* elements(KernelDevice& device, Elements n, const std::vector<float>& values, DType dtype);

double median_of_some(const std::unique_ptr<double[]>& times, int count);

template <class Run>
double CudaDevice::seconds(const Run& run) {
  run();
  begin_timing();
  run();
  // A second of it in all, but 3 times and not more than 30.
  const double once = end_timing();
  const int count = once > 0.3 ? 3 : once > 0.03 ? 10 : 30;
  auto times = std::make_unique<double[]>(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    begin_timing();
    run();
    times[static_cast<std::size_t>(i)] = end_timing();
  }
  return median_of_some(times, count);
}

}  // namespace casync::compll::test
