// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/cuda_device.h"
#include "tests/compll/cuda/emulated/driver.h"
#include "tests/runtime/session/gpu.h"

namespace casync::test {

const compll::DriverApi& gpu_driver() { return compll::emulated::driver(); }

Result<std::unique_ptr<runtime::Device>> open_gpu(const std::string& name) {
  const auto no_code = [](const compll::CudaCodecText&, const std::string&) -> Result<std::vector<std::string>> {
    return std::vector<std::string>{"no machine code"};
  };
  return runtime::make_cuda_device(gpu_driver(), name.ends_with(":1") ? 1 : 0, no_code);
}

}  // namespace casync::test
