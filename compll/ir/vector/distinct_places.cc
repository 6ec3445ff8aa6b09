// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/vector/distinct_places.h"

namespace casync::compll {

bool gives_distinct_places(const Routine& routine, const Term& places) {
  if (operation_of(places.op).traits.gives_distinct) return true;
  if (places.op != Op::kVariable) return false;
  for (const Step& step : routine.steps) {
    if (step.variables.size() == 1 && step.variables.front() == places.variable) {
      return gives_distinct_places(routine, *step.value);
    }
  }
  return false;
}

bool receives_distinct_places(const Program& program, const Routine& routine, const Term& places) {
  if (places.op != Op::kVariable) return false;
  for (std::size_t i = 0; i < routine.extracted.size(); ++i) {
    if (routine.extracted[i] != places.variable) continue;
    return gives_distinct_places(program.encode, *program.encode.sections[i]) &&
           (!program.merge || gives_distinct_places(*program.merge, *program.merge->sections[i]));
  }
  return false;
}

}  // namespace casync::compll
