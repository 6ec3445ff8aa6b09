// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "compll/codegen/cuda/whole_arrays.h"
#include "compll/codegen/cuda/whole_input.h"
#include "compll/codegen/cuda/whole_matrices.h"
#include "compll/codegen/cuda/whole_names.h"
#include "compll/codegen/cuda/whole_operators.h"
#include "compll/codegen/cuda/whole_places.h"
#include "compll/codegen/cuda/whole_plan.h"
#include "compll/codegen/cuda/whole_reductions.h"
#include "compll/codegen/cuda/whole_selection.h"
#include "compll/codegen/cuda/whole_stages.h"
#include "compll/codegen/cuda/whole_values.h"
#include "compll/codegen/text/writer.h"
#include "compll/ir/rounds/rounds_plan.h"
#include "compll/lang/diagnostic.h"
#include "compll/lang/program.h"

namespace casync::compll {

/// One routine of a program as a struct whose functions are its stages. First a plan is made: each value's definition,
/// each step's stage, and the place in memory of its result. Then each stage is written with the names that it refers
/// to. Each part of that is a class of one subject.
struct CudaWholeRoutine {
  CudaWholeRoutine(const Program& program_of_all, const Routine& routine_of_steps, Writer& writer, Diagnostics& found);
  /// One turn of a routine that exchanges; `kept`: variables that are wanted besides the turn's result.
  CudaWholeRoutine(const Program& program_of_all, const TurnPlan& turn, const std::vector<VariableId>& kept,
                   Writer& writer, Diagnostics& found);
  CudaWholeRoutine(const CudaWholeRoutine&) = delete;
  CudaWholeRoutine& operator=(const CudaWholeRoutine&) = delete;

  [[noreturn]] void refuse(Span at, const std::string& what);

  const Program& program;
  const Routine& routine;
  const std::vector<const Step*> steps;  ///< of the routine, or of the turn
  Writer& out;
  Diagnostics& diagnostics;
  CudaNames names;
  CudaPlan plan{*this};
  CudaStages stages{*this};
  CudaValues values{*this};
  CudaArrays arrays{*this};
  CudaPlaces places{*this};
  CudaInput input{*this};
  CudaReductions reductions{*this};
  CudaSelection selection{*this};
  CudaMatrices matrices{*this};
  CudaOperators operators{*this};
};

}  // namespace casync::compll
