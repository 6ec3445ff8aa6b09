// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compll/codegen/cuda/whole_plan.h"
#include "compll/ir/vector/reduction_needs.h"
#include "compll/lang/program.h"

namespace casync::compll {

struct CudaWholeRoutine;

/// The plan of reductions: of a whole array, and of blocks.
class CudaReductions {
 public:
  explicit CudaReductions(CudaWholeRoutine& text) : text_(text) {}

  /// Sets the reductions that not all parameters need.
  void set_conditions(std::map<const Term*, ParameterCondition> conditions) { needed_if_ = std::move(conditions); }
  bool has_condition(const Term& term) const { return needed_if_.count(&term) != 0; }

  void plan_reduction(const Term& term);
  void plan_block_reduction(const Term& term, CudaPlanned& planned, const std::string& name);
  /// The class that reduces so; sets `ordered` if the order can be seen.
  std::string reducer(const Term& term, bool& ordered);
  /// Returns true if a reduction of nothing gives an end of 32 bits' range, which the element's type does not have.
  static bool is_narrowed(const Term& term);

 private:
  std::string only_if_needed(const Term& term);

  CudaWholeRoutine& text_;
  std::map<const Term*, ParameterCondition> needed_if_;
};

}  // namespace casync::compll
