// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "compll/ir/vector/cuda/plan.h"

namespace casync::compll::cuda_vector {

struct Staging;

/// Reductions of a whole array, and of blocks.
class Reductions {
 public:
  explicit Reductions(Staging& staging) : staging_(staging) {}

  void plan_reduction(const Term& term);
  Id plan_block_reduction(const Term& term, const std::string& name);
  /// The reduction's class, and the function that it goes by.
  Reduction reduction(const Term& term);

 private:
  std::size_t function(const Term& term);

  Staging& staging_;
};

/// The stage of the initial value of a reduction; 0 if it has none.
std::uint32_t ready_of_initial(const Routine& plan, const Term& term);

}  // namespace casync::compll::cuda_vector
