// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "compll/codegen/cuda/whole_plan.h"
#include "compll/codegen/cuda/whole_stages.h"
#include "compll/lang/program.h"

namespace casync::compll {

struct CudaWholeRoutine;

/// The plan of operators that make arrays in memory: their stages, and the layout of their memory.
class CudaOperators {
 public:
  explicit CudaOperators(CudaWholeRoutine& text) : text_(text) {}

  void plan_sort(const Term& term, CudaPlanned& planned, const std::string& name);
  void plan_scatter(const Term& term, CudaPlanned& planned, const std::string& name, std::optional<VariableId> id);
  /// Plans FUNCTION(part, count, array, wanted, address), which goes through a tile's share of the array from this
  /// stage on; its result is there in the next one.
  void plan_call(const Term& term, CudaPlanned& planned, const std::string& name, const std::string& function,
                 std::uint32_t stage, CudaStages::Zeros zeros = CudaStages::Zeros::kNone);
  void plan_hadamard(const Term& term, CudaPlanned& planned, const std::string& name, std::optional<VariableId> id);

 private:
  static bool compares_numbers(const Term& term);

  CudaWholeRoutine& text_;
};

}  // namespace casync::compll
