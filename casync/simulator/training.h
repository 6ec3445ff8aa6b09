// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "casync/model/gradient.h"

namespace casync {

/// A gradient and when training makes and needs it, on a machine where synchronizing takes no time.
struct TrainedGradient {
  GradientSpec spec;
  double ready_s = 0;  ///< after the backward pass began
  double need_s = 0;   ///< after the next forward pass began
};

/// A rank whose passes take `factor` times as long as the description says.
struct SlowRank {
  Rank rank = 0;
  double factor = 1;
};

/// One step of training as the simulator knows it: a backward pass that makes gradients one after the other, and the
/// next forward pass, which stops wherever a gradient is needed that is not there. What the optimizer takes belongs
/// into forward_s. Read from a file by planner/model_file.h.
struct Training {
  std::string name;
  std::string source;  ///< origin of shapes and seconds
  double backward_s = 0;
  double forward_s = 0;
  std::vector<TrainedGradient> gradients;
  std::vector<SlowRank> slow;  ///< each rank at most once; the others are as described
  double jitter = 0;           ///< passes take up to this part longer, drawn anew for each rank and step

  /// False if ranks differ, by more than their gradients' values.
  bool is_alike() const { return slow.empty() && jitter == 0; }
  /// The factor of a rank's passes in every step, without the jitter.
  double slowness_of(Rank rank) const;
};

/// A number from 0 to below 1, the same for the same words on every machine: the part of the jitter that a rank's step
/// takes. The finalizer of SplitMix64, over both (Steele, Lea, Flood 2014).
double drawn_for(std::uint64_t seed, std::uint64_t rank, std::uint64_t step);

}  // namespace casync
