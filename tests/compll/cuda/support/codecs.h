// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "compll/ops/cuda/coding_launch.h"
#include "compll/ops/cuda/launch.h"

namespace casync::compll::test {

/// The kernels of all programs that this build has written them from.
const std::vector<const cuda::Kernels*>& kernels_of_codecs();
/// And of those in vector form.
const std::vector<const cuda::VectorFormKernels*>& kernels_of_vector_form();
/// And of those that exchange within a step.
const std::vector<const cuda::RoundsKernels*>& kernels_of_rounds();
/// And those that code, of programs with coded sections.
const std::vector<const cuda::CodingKernels*>& kernels_of_coding();

}  // namespace casync::compll::test
