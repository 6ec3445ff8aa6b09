// SPDX-License-Identifier: Apache-2.0
#pragma once

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

/// One step of training as the simulator knows it: a backward pass that makes gradients one after the other, and the
/// next forward pass, which stops wherever a gradient is needed that is not there. What the optimizer takes belongs
/// into forward_s. Read from a file by planner/model_file.h.
struct Training {
  std::string name;
  std::string source;  ///< origin of shapes and seconds
  double backward_s = 0;
  double forward_s = 0;
  std::vector<TrainedGradient> gradients;
};

}  // namespace casync
