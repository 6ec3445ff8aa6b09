// SPDX-License-Identifier: Apache-2.0
#include "compll/cuda/driver.h"
#include "runtime/device/cuda/factory.h"
#include "tests/runtime/session/nccl_cases.h"

namespace casync::test {

const compll::DriverApi& gpu_driver() { return *compll::find_driver().value(); }

Result<std::unique_ptr<runtime::Device>> open_gpu(const std::string& name) {
  return runtime::make_cuda_device(name.ends_with(":1") ? 1 : 0);
}

void nccl::use_nccl() {}

}  // namespace casync::test
