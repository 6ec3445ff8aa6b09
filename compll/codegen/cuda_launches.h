// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "compll/lang/program.h"
#include "compll/lang/source.h"

namespace casync::compll {

/// How many kernels are launched for a batch of gradients: `on a GPU: encode 5 launches, decode 2`. "" where there is
/// no CUDA text.
std::string cuda_launches(const Program& program, const Source& source);

}  // namespace casync::compll
