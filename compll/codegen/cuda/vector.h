// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "compll/ir/vector/cuda/plan.h"
#include "compll/lang/program.h"
#include "compll/lang/source.h"
#include "compll/ops/cuda/launch.h"

namespace casync::compll {

/// Kernels of a program in vector form, as text: each function is one kernel, cut into stages between
/// which tiles wait for each other.
struct CudaVectorForm {
  std::string codec;  ///< its name
  std::string text;
  std::vector<std::pair<std::string, std::uint32_t>> stages;  ///< the number for each of encode, merge, decode, result
  std::vector<std::string> kernels;                           ///< their names: casync_topk_encode
  bool keeps_residual = false;                                ///< see cuda::VectorFormKernels
};

/// CUDA C++ that computes the codec, for nvcc and NVRTC (-std=c++20 -fmad=false, the include path of compll).
CudaVectorForm cuda_vector_text(const cuda_vector::Plan& plan, const Source& source);

/// The same with a plan of its own. Unimplemented, with the place: only the interpreter can run the program yet.
Result<CudaVectorForm> cuda_vector_text(const Program& program, const Source& source);

}  // namespace casync::compll
