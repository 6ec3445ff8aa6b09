// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "compll/codegen/cuda/whole_plan.h"
#include "compll/lang/program.h"

namespace casync::compll {

struct CudaWholeRoutine;

/// The plan of steps that use the gradient as a matrix, in programs that exchange. A product reads rows and columns
/// that other tiles have made, and so do steps that read the product.
class CudaMatrices {
 public:
  explicit CudaMatrices(CudaWholeRoutine& text) : text_(text) {}

  void plan_matmul(const Term& term, CudaPlanned& planned, const std::string& name, std::optional<VariableId> id);
  void plan_outer_product(const Term& term, CudaPlanned& planned, const std::string& name,
                          std::optional<VariableId> id);
  void plan_orthonormalize(const Term& term, CudaPlanned& planned, const std::string& name,
                           std::optional<VariableId> id);
  void plan_vector_reduction(const Term& term, CudaPlanned& planned, const std::string& name);

 private:
  CudaWholeRoutine& text_;
};

}  // namespace casync::compll
