// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cuda/whole_routine.h"

#include "compll/codegen/cuda/cannot_write.h"
#include "compll/ir/vector/reduction_needs.h"

namespace casync::compll {

CudaWholeRoutine::CudaWholeRoutine(const Program& program_of_all, const Routine& routine_of_steps, Writer& writer,
                                   Diagnostics& found)
    : program(program_of_all),
      routine(routine_of_steps),
      steps(steps_in(routine.steps)),
      out(writer),
      diagnostics(found),
      names(*this, program.variables.size()) {
  std::vector<const Term*> wanted;
  for (const TermPtr& section : routine.sections) wanted.push_back(section.get());
  if (routine.result) wanted.push_back(routine.result.get());
  for (const Term* term : wanted) names.count_uses(*term);
  for (const VariableId id : routine.states_then) names.count_use(id);
  names.count_uses(steps);
  reductions.set_conditions(reductions_needed_if(steps, wanted, routine.states_then));
}

CudaWholeRoutine::CudaWholeRoutine(const Program& program_of_all, const TurnPlan& turn,
                                   const std::vector<VariableId>& kept, Writer& writer, Diagnostics& found)
    : program(program_of_all),
      routine(*program.synchronize),
      steps(turn.steps),
      out(writer),
      diagnostics(found),
      names(*this, program.variables.size()) {
  for (const VariableId id : kept) names.count_use(id);
  names.count_uses(*turn.given);
  names.count_uses(steps);
  reductions.set_conditions(reductions_needed_if(steps, {turn.given}, kept));
}

void CudaWholeRoutine::refuse(Span at, const std::string& what) {
  diagnostics.add(at, what + " cannot be compiled for CUDA, only interpreted");
  throw CannotWriteCuda();
}

}  // namespace casync::compll
