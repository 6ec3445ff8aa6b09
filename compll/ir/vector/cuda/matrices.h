// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "compll/ir/vector/cuda/plan.h"

namespace casync::compll::cuda_whole {

struct Staging;

/// Steps that use the gradient as a matrix, in programs that exchange. A product reads rows and columns that other
/// tiles have made, and so do steps that read the product.
class Matrices {
 public:
  explicit Matrices(Staging& staging) : staging_(staging) {}

  Id plan_matmul(const Term& term, const std::string& name, std::optional<VariableId> id);
  Id plan_outer_product(const Term& term, const std::string& name, std::optional<VariableId> id);
  Id plan_orthonormalize(const Term& term, const std::string& name, std::optional<VariableId> id);
  Id plan_vector_reduction(const Term& term, const std::string& name);

 private:
  Staging& staging_;
};

}  // namespace casync::compll::cuda_whole
