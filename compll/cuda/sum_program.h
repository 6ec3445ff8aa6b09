// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace casync::compll {

inline constexpr const char* kSumProgram = "sum";
/// The name of its kernels with a merge that takes the greatest of each element.
inline constexpr const char* kGreatestProgram = "greatest";

/// The source of compll/cuda/sum.cll, which stands for the codec `none` on a GPU.
std::string_view sum_program();

}  // namespace casync::compll
