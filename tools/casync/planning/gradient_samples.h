// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "casync/simulator/training.h"

namespace casync::tools {

/// Values of a training's gradients, at most 16 Ki of each.
struct GradientSamples {
  std::vector<std::vector<float>> values;  ///< by position in training.gradients; empty: there are none
  std::vector<std::string> remarks;        ///< samples that belong to no gradient, gradients that have no sample
};

/// Reads a safetensors file, as CASYNC_RECORD leaves one in gradients.safetensors: tensors of F32, F16 or BF16 and of
/// any shape, each the sample of the gradient of its name, or the gradient itself, which is then sampled here
/// (casync/patterns/sampled.h). Takes the memory of the header and of the samples. One of nothing but zeros is none.
/// InvalidArgument, with the path and the tensor: no such file, over 4 GiB, cut off, a header over 64 MiB or that is no
/// JSON object, another dtype, a shape or offsets that do not go together or lie outside of the file, a tensor larger
/// than its gradient, NaN or infinity in a sample.
Result<GradientSamples> read_gradient_samples(const std::string& path, const Training& training);

}  // namespace casync::tools
