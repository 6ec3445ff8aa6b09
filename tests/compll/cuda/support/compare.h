// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tests/compll/cuda/support/kernel_codec.h"

namespace casync::compll::test {

/// What to compare at how many sizes.
struct Comparison {
  std::vector<Elements> sizes;         ///< each with all kinds of inputs
  std::vector<Elements> merged_sizes;  ///< of merges: several codes, and raw elements
  std::vector<Elements> large;         ///< two inputs
  std::vector<Elements> batch = {};    ///< of all these sizes at once
};

/// Runs a codec's kernels beside its meaning: encode with and without feedback, decode into and onto, merge, batches of
/// several sizes, memory off a multiple of 16 bytes. What differed first, and where: the names of codec and input, the
/// index of the byte or element. Nothing: "".
std::string difference(const cuda::Kernels& kernels, const Codec& meaning, KernelDevice& device,
                       const Comparison& comparison);
/// The same of a program that needs the whole vector, with its states and with what it makes of what was decoded.
std::string difference(const cuda::WholeKernels& kernels, const Codec& meaning, KernelDevice& device,
                       const Comparison& comparison);

}  // namespace casync::compll::test
