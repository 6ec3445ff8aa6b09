// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "tests/compll/cuda/support/kernel_codec.h"

namespace casync::compll::test {

/// The sizes at which kernels are compared.
struct Comparison {
  std::vector<Elements> sizes;         ///< each with all kinds of inputs
  std::vector<Elements> merged_sizes;  ///< merges: several codes, and raw elements
  std::vector<Elements> large;         ///< two inputs
  std::vector<Elements> batch = {};    ///< one launch of all these sizes
  DType dtype = DType::kFloat32;       ///< of gradients
  /// Returns how a payload of so many elements differs from its meaning, the first one; "" if it does not. Without it
  /// the bytes are compared.
  std::function<std::string(Elements n, const std::vector<std::byte>& meaning, const std::vector<std::byte>& kernel)>
      payload_difference = nullptr;
};

/// The devices that a comparison is made on. What the interpreter gives, which takes longest, is the same for all.
using Devices = std::span<KernelDevice* const>;

/// Compares a codec's kernels with its meaning: encode with and without feedback, decode into and onto, merge, batches
/// of several sizes, memory off a multiple of 16 bytes. Of half precision the meaning is that of the widened elements,
/// and what is decoded is rounded. Returns the first difference: the names of codec and input, the
/// index of the byte or element, and the device; "" if there is none.
std::string difference(const cuda::Kernels& kernels, const Codec& meaning, Devices devices,
                       const Comparison& comparison);
/// The same of a program in vector form, with its states and with what it makes of what was decoded.
std::string difference(const cuda::VectorFormKernels& kernels, const Codec& meaning, Devices devices,
                       const Comparison& comparison);

}  // namespace casync::compll::test
