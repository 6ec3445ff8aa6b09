// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compll/codec/rounds_codec.h"
#include "tests/compll/cuda/support/device.h"

namespace casync::compll::test {

using Shapes = std::vector<std::pair<Elements, Elements>>;  ///< rows and columns

/// Compares the turns' kernels with their meaning: three steps of two ranks with what they keep, for each of these
/// shapes; then all shapes in one launch for each turn, without states that are kept and the result where the gradient
/// was. Returns the first difference and its place; "" if there is none. A NaN's bits are not compared.
std::string difference(const cuda::RoundsKernels& kernels, const RoundsCodec& meaning, KernelDevice& device,
                       const Shapes& shapes);

}  // namespace casync::compll::test
