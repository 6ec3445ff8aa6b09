// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/vector/distinct_places.h"

#include <algorithm>

#include "compll/lang/terms.h"

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

std::uint32_t sections_of_scatter(const Routine& routine, const Term& scatter) {
  const auto section_of = [&](const Term& term) -> std::uint32_t {
    if (term.op != Op::kVariable) return 0;
    int uses = 0;
    for_each_term(routine, [&](const Term& each) {
      if (each.op == Op::kVariable && each.variable == term.variable) ++uses;
    });
    const auto found = std::find(routine.extracted.begin(), routine.extracted.end(), term.variable);
    return uses == 1 && found != routine.extracted.end() ? 1u << (found - routine.extracted.begin()) : 0;
  };
  const std::uint32_t places = section_of(*scatter.arguments[0]);
  return places == 0 ? 0 : places | section_of(*scatter.arguments[1]);
}

}  // namespace casync::compll
