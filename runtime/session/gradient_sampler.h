// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/view.h"
#include "casync/model/gradient.h"

namespace casync::runtime {

/// Samples of gradients (casync/patterns/sampled.h) as they were submitted, widened to float32: what `casync plan`
/// measures codecs' errors on. Taken of a gradient's submissions 1, 2, 4, 8, ..., so that the cost is negligible. The
/// last sample counts that is finite and not all zeros.
/// Memory: 4 bytes an element, at most 64 KiB a gradient, which its first sample allocates. Calls come one at a time.
class GradientSampler {
 public:
  /// Gradient number `gradient` is submitted for `step`. `data` is all of it, and is read within this call.
  void submitted(std::size_t gradient, const GradientSpec& spec, ConstView data, std::uint32_t step);
  /// The same in two parts, for gradients that are elsewhere: returns true if this submission is sampled, and takes the
  /// sample, sampled_elements() of the gradient's type, later.
  bool is_due(std::size_t gradient);
  void take(std::size_t gradient, const GradientSpec& spec, ConstView sample, std::uint32_t step);

  /// Its sample is not written.
  void forget(std::size_t gradient);
  bool empty() const;
  /// The sample of a gradient; empty: there is none.
  std::span<const float> sample(std::size_t gradient) const;

  /// All samples in the format safetensors: an F32 tensor of one dimension for each gradient, by its name, and in
  /// `__metadata__` under the same name "step 7, 16384 of 1000000 elements". A gradient called `__metadata__`, which
  /// that format cannot have, is left out. Unavailable: the file cannot be written.
  Status write(const std::string& path, std::span<const GradientSpec> gradients) const;

 private:
  struct Kept {
    std::uint64_t submissions = 0;
    std::uint32_t step = 0;  ///< of the sample
    std::vector<float> values;
  };

  void keep_new(std::size_t gradient, std::uint32_t step);

  std::vector<Kept> kept_;  ///< by gradient
  std::vector<float> new_;  ///< a sample that may be good for nothing
};

}  // namespace casync::runtime
