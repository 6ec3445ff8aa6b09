// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/cuda/factory.h"

namespace casync::runtime {

Result<std::unique_ptr<Device>> make_cuda_device(int /*index*/) {
  return unimplemented("built without CUDA (CASYNC_WITH_CUDA=OFF): gradients have to be in host memory");
}

}  // namespace casync::runtime
