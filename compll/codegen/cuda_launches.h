// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "compll/lang/program.h"
#include "compll/lang/source.h"

namespace casync::compll {

/// How many kernels are launched for a batch of gradients, and in how many stages one of them works that needs the
/// whole vector: `on a GPU: encode 1 launch of 5 stages, decode 1 of 2`. "" where there is no CUDA text.
std::string cuda_launches(const Program& program, const Source& source);

}  // namespace casync::compll
