// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/units.h"
#include "base/view.h"
#include "casync/simulator/training.h"

namespace casync::tools {

/// The gradients' memory, filled anew ahead of each step as backward passes do. `training` outlives it.
class GradientMemory {
 public:
  GradientMemory(const Training& training, Rank rank);

  View view(std::size_t gradient) const;
  void fill();

 private:
  const Training& training_;
  std::vector<float> pattern_;
  std::vector<std::uint16_t> halves_;
  std::vector<Bytes> places_;
  std::unique_ptr<std::byte[]> bytes_;
};

}  // namespace casync::tools
