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

/// Kernels of a program that needs the whole vector, as text: each function is one kernel, cut into stages between
/// which tiles wait for each other.
struct CudaWhole {
  std::string codec;  ///< its name
  std::string text;
  std::vector<std::pair<std::string, std::uint32_t>> stages;  ///< the number for each of encode, merge, decode, result
  std::vector<std::string> kernels;                           ///< their names: casync_topk_encode
  bool keeps_residual = false;                                ///< see cuda::WholeKernels
};

/// CUDA C++ that computes the codec, for nvcc and NVRTC (-std=c++20 -fmad=false, the include path of compll).
CudaWhole cuda_whole_text(const cuda_whole::Plan& plan, const Source& source);

/// The same with a plan of its own. Unimplemented, with the place: only the interpreter can run the program yet.
Result<CudaWhole> cuda_whole_text(const Program& program, const Source& source);

}  // namespace casync::compll
