// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "compll/lang/program.h"
#include "compll/lang/source.h"
#include "compll/ops/cuda/launch.h"

namespace casync::compll {

/// Kernels of a program that needs the whole vector, as text: each function is one, cut into stages between which tiles
/// wait for each other.
struct CudaWhole {
  std::string codec;  ///< its name
  std::string text;
  std::vector<std::pair<std::string, std::uint32_t>> stages;  ///< of encode, merge, decode, result: how many
  std::vector<std::string> kernels;                           ///< their names: casync_topk_encode
  bool keeps_residual = false;                                ///< of cuda::WholeKernels
};

/// CUDA C++ that computes the codec, for nvcc and NVRTC (-std=c++20 -fmad=false, the include path of compll).
/// Unimplemented: what this back end cannot say yet the interpreter can; with its place.
Result<CudaWhole> cuda_whole_text(const Program& program, const Source& source);

}  // namespace casync::compll
