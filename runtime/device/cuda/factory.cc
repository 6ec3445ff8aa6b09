// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/factory.h"

#include "compll/cuda/cubin.h"
#include "compll/cuda/cuda_device.h"
#include "compll/cuda/driver.h"
#include "runtime/device/cuda/cuda_device.h"

namespace casync::runtime {
namespace {

/// CUDA 12: cubins of NVRTC 13 load with it, and every function of the table is there.
constexpr int kOldest = 12000;

Result<std::vector<std::string>> compiled(const compll::CudaCodecText& text, const std::string& architecture) {
  Result<compll::Cubin> cubin = compll::cubin_of(text, architecture);
  if (!cubin) return cubin.status();
  return std::move(cubin->code);
}

Result<const compll::DriverApi*> usable_driver() {
  Result<const compll::DriverApi*> driver = compll::find_driver();
  if (!driver) return driver;
  int version = 0;
  if ((*driver)->version(&version) == 0 && version < kOldest) {
    return unavailable("the CUDA driver is too old: it knows CUDA " + std::to_string(version / 1000) + "." +
                       std::to_string(version % 1000 / 10) + ", at least 12.0 is needed: update it");
  }
  return driver;
}

}  // namespace

Result<int> count_cuda_devices() {
  const Result<const compll::DriverApi*> driver = usable_driver();
  return driver ? compll::count_devices(**driver) : driver.status();
}

Result<std::unique_ptr<Device>> make_cuda_device(int index) {
  const Result<const compll::DriverApi*> driver = usable_driver();
  if (!driver) return driver.status();
  return make_cuda_device(**driver, index, compiled);
}

}  // namespace casync::runtime
