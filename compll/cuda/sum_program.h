// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace casync::compll {

inline constexpr const char* kSumProgram = "sum";

/// The source of compll/cuda/sum.cll, which stands for the codec `none` on a GPU.
std::string_view sum_program();

}  // namespace casync::compll
