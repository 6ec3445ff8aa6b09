// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "compll/ir/vector/cuda/arrays.h"
#include "compll/ir/vector/cuda/plan.h"
#include "compll/ir/vector/cuda/reductions.h"

namespace casync::compll::cuda_vector {

/// The classes of one subject each that give the steps of a launch to stages, and their results to memory.
struct Staging {
  explicit Staging(Routine& of) : plan(of) {}
  Staging(const Staging&) = delete;
  Staging& operator=(const Staging&) = delete;

  /// A name for a value that no variable has.
  std::string temporary(const std::string& word) { return word + "_t" + std::to_string(plan.temporaries++); }

  Routine& plan;
  Arrays arrays{*this};
  Reductions reductions{*this};
};

}  // namespace casync::compll::cuda_vector
