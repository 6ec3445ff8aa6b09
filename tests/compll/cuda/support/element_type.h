// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/dtype.h"
#include "compll/ops/cuda/launch.h"

namespace casync::compll::test {

/// The kernels' name of a gradient's type.
inline cuda::ElementType element_type(DType dtype) {
  return dtype == DType::kFloat32   ? cuda::ElementType::kFloat32
         : dtype == DType::kFloat16 ? cuda::ElementType::kFloat16
                                    : cuda::ElementType::kBFloat16;
}

}  // namespace casync::compll::test
