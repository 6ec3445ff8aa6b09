// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "compll/codegen/cpu/routine_text.h"

namespace casync::compll {

/// Writes how loops of encode or merge feed reductions, and their results.
class ReductionText : protected RoutineText {
 protected:
  ReductionText(const CpuEncoder& plan, Writer& out)
      : RoutineText(*plan.program, plan.values, plan.block, out), plan_(plan) {}

  /// The functions that the program reduces by.
  void write_functions();
  /// Writes struct Tensor.
  void write_tensor();
  /// Defines these values of the tensor, whatever pass has computed them.
  void define_tensor_values(const std::vector<ValueId>& ids);

  /// The class that reduces so.
  std::string reducer(ValueId id) const;
  static std::string reduced(ValueId id) { return "reduced" + std::to_string(id); }
  void write_chunks(ValueId id, const std::string& name);
  void write_block_result(ValueId id);
  /// Feeds a reduction. One that only some parameters need is skipped for others; so are its operands, as the compiler
  /// moves them to their use.
  void write_take(ValueId id);

  const CpuEncoder& plan_;

 private:
  void write_take_always(ValueId id);
  std::string holds(const Condition& condition) const;
  std::string result_of(ValueId id, const std::string& name) const;
};

}  // namespace casync::compll
