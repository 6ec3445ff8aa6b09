// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "compll/ir/tiles/cuda/plan.h"
#include "compll/ops/cuda/launch.h"

namespace casync::compll {

/// The text of kernels, and their launch parameters: an encoding or a merge takes one launch, or two if the codec has
/// statistics of the whole tensor; a decoding takes one.
struct CudaText {
  std::string codec;  ///< its name
  std::string text;
  cuda::Shape shape;
  bool encodes_sums = false;         ///< there is a struct CodecOfSums
  bool has_result = false;           ///< there is a kernel that computes the gradient from the decoded vector
  std::vector<std::string> kernels;  ///< their names: casync_int4_encode
};

/// CUDA C++ that computes the codec, for nvcc and NVRTC (-std=c++20 -fmad=false, the include path of compll).
CudaText cuda_text(const CudaTiles& plan, const Source& source);

/// The same with a plan of its own. Unimplemented, with the place: a program in vector form, for which there is
/// cuda_vector_text, and sections of trits: units of warps are powers of two, and would share bytes of five.
Result<CudaText> cuda_text(const Program& program, const Lowered& lowered, const Source& source);

/// The kernels of codec `name`, which are those of another codec but for a merge that takes the greatest of each
/// element, NaN if one is NaN, instead of the sum, and has no scale. The text has all kernels of both.
CudaText cuda_greatest_text(const CudaText& elements, const std::string& name);

}  // namespace casync::compll
