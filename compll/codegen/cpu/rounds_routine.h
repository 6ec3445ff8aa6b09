// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "compll/codegen/cpu/rounds_arrays.h"
#include "compll/codegen/cpu/rounds_values.h"
#include "compll/codegen/text/writer.h"
#include "compll/ir/loops.h"
#include "compll/ir/rounds/rounds_plan.h"
#include "compll/lang/diagnostic.h"
#include "compll/lang/program.h"

namespace casync::compll {

/// One turn as C++, and the classes that write its arrays and its values. The loop that makes a matrix also does the
/// work of the first product with it.
struct RoundsRoutine {
  /// `kept` are variables that are wanted besides the turn's result.
  RoundsRoutine(const Program& program_of_all, const TurnPlan& turn, const std::vector<VariableId>& kept,
                Writer& writer, Diagnostics& found);
  RoundsRoutine(const RoundsRoutine&) = delete;
  RoundsRoutine& operator=(const RoundsRoutine&) = delete;

  /// The number of elements of a value.
  static std::string size(const Type& type);
  /// The length of a vector or a block.
  static std::string length(const Constant& constant);
  /// `const size_t size_0 = ...;` for each size of the program.
  void define_sizes();
  /// Binds the variable to a place in memory, so many floats after a pointer.
  void bind(VariableId id, const std::string& place);
  /// Wants the variable at this place: if it is made in memory, it is made there.
  void want_at(VariableId id, const std::string& place);
  void write_steps();
  /// Stores the value of a variable, or of a term, at this place, unless it is there already.
  void put(const Term& term, const std::string& place, const std::string& what);
  void put(VariableId id, const std::string& place, const std::string& what);
  bool uses(VariableId id) const { return uses_[id] != 0; }

  std::string name(VariableId id) const { return program.variables[id].name + "_" + std::to_string(id); }
  std::string temporary(const std::string& word) { return word + "_t" + std::to_string(temporaries_++); }
  /// Notes a loop over the array, if it has n elements, and the bytes that it writes.
  void note(const std::string& what, const RoundsArray& array, const Type& type, double written);
  [[noreturn]] void refuse(Span at, const std::string& what);

  const Program& program;
  const TurnPlan& plan;
  Writer& out;
  Diagnostics& diagnostics;
  RoundsValues values{*this};
  RoundsArrays arrays{*this};
  std::vector<Loop> loops;

 private:
  void count_uses(const Term& term);
  VariableId made_as(VariableId id) const;
  std::string typed_place(VariableId id) const;
  void write_step(std::size_t index);
  void write_value(const Step& step, const std::string& place);
  void write_array(std::size_t index, const std::string& place);
  bool is_filled_by_product(std::size_t index) const;

  std::vector<std::size_t> uses_;             ///< for each variable
  std::map<VariableId, std::string> places_;  ///< the places where arrays are wanted
  std::size_t temporaries_ = 0;
};

}  // namespace casync::compll
