// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "compll/codegen/cuda_whole_plan.h"
#include "compll/lang/program.h"

namespace casync::compll {

struct CudaWholeRoutine;

/// The plan of operators that make arrays in memory: their stages, and the layout of their memory.
class CudaOperators {
 public:
  explicit CudaOperators(CudaWholeRoutine& text) : text_(text) {}

  void plan_sort(const Term& term, CudaPlanned& planned, const std::string& name);
  void plan_scatter(const Term& term, CudaPlanned& planned, const std::string& name, std::optional<VariableId> id);
  void plan_histogram(const Term& term, CudaPlanned& planned, const std::string& name);
  void plan_hadamard(const Term& term, CudaPlanned& planned, const std::string& name, std::optional<VariableId> id);

 private:
  static bool compares_numbers(const Term& term);

  CudaWholeRoutine& text_;
};

}  // namespace casync::compll
