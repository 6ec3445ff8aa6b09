// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "compll/codegen/cpu/whole_arrays.h"
#include "compll/codegen/cpu/whole_loops.h"
#include "compll/codegen/cpu/whole_names.h"
#include "compll/codegen/cpu/whole_operators.h"
#include "compll/codegen/cpu/whole_places.h"
#include "compll/codegen/cpu/whole_values.h"
#include "compll/codegen/text/writer.h"
#include "compll/lang/diagnostic.h"
#include "compll/lang/program.h"

namespace casync::compll {

/// The steps of one routine as C++, and the classes of one subject each that write them. Steps over all n elements are
/// put off so that one loop does as many as it can: until a step needs the whole of a result.
struct WholeRoutine {
  WholeRoutine(const Program& program_of_all, const Routine& routine_of_steps, Writer& writer, Diagnostics& found);
  WholeRoutine(const WholeRoutine&) = delete;
  WholeRoutine& operator=(const WholeRoutine&) = delete;

  /// `const size_t size_0 = ...;` for each size of the program.
  void define_sizes();
  /// Binds the gradient to `source`: a sum that the first loop puts into memory, and checks for NaN and infinity.
  void bind_gradient(VariableId id);
  /// Binds the variable to so many floats at a place in memory.
  void bind_memory(VariableId id, const std::string& place);
  /// Binds the variable to a section.
  void bind_section(VariableId id, const Type& type, const std::string& place);
  void write_steps();
  /// Ends the loop if a term needs the whole of its results.
  void settle(const Term& term);

  [[noreturn]] void refuse(Span at, const std::string& what);

  const Program& program;
  const Routine& routine;
  Writer& out;
  Diagnostics& diagnostics;
  WholeNames names;
  WholeLoops loops;
  WholePlaces places{*this};
  WholeValues values{*this};
  WholeArrays arrays{*this};
  WholeOperators operators{*this};
  /// True once elements of other places are read: then nothing may be overwritten until the end.
  bool picks_elements = false;

 private:
  void write_step(const Step& step);
};

}  // namespace casync::compll
