// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "compll/lang/program.h"
#include "compll/lang/source.h"

namespace casync::compll {

/// The number of kernels launched for a batch of gradients, and the stages of those in vector form: `on a
/// GPU: encode 1 launch of 5 stages, decode 1 of 2`; and those that code. "" if there is no CUDA text.
std::string cuda_launches(const Program& program, const Source& source);

}  // namespace casync::compll
