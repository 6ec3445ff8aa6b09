// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "compll/ir/vector/cuda/plan.h"
#include "compll/lang/program.h"
#include "compll/lang/source.h"
#include "compll/ops/cuda/launch.h"

namespace casync::compll {

/// Kernels of a program that exchanges within a step, as text: each turn is one kernel, cut into stages between which
/// tiles wait for each other.
struct CudaRounds {
  std::string codec;  ///< its name
  std::string text;
  std::vector<std::uint32_t> stages;  ///< one for each turn
  std::vector<std::string> kernels;   ///< their names: casync_powersgd_turn_0
};

/// CUDA C++ that computes the codec, for nvcc and NVRTC (-std=c++20 -fmad=false, the include path of compll).
CudaRounds cuda_rounds_text(const cuda_vector::Turns& turns, const Source& source);

/// The same with a plan of its own. Unimplemented, with the place: the program does not exchange, or only the
/// interpreter can run it yet.
Result<CudaRounds> cuda_rounds_text(const Program& program, const Source& source);

}  // namespace casync::compll
