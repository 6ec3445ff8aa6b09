// SPDX-License-Identifier: Apache-2.0
#include "compll/lang/check/routine_checker.h"

#include <string>
#include <utility>

#include "compll/lang/check/code_checker.h"
#include "compll/lang/check/control.h"

namespace casync::compll {

void RoutineChecker::check_routine(const Function& function, std::string_view output, RoutineKind kind,
                                   Routine& routine) {
  Place& place = code_.place;
  place.routine = &routine;
  place.output = code_.variables.names().declared_here(output);
  place.kind = kind;
  place.steps = &routine.steps;
  if (kind != RoutineKind::kDecode) code_.states.begin_states();
  code_.statements.check_block(function.body);
  if (!code_.diagnostics.empty()) return;
  need_output(function);
  if (kind != RoutineKind::kDecode) code_.states.end_states(function);
  code_.selections.end_routine();
}

/// Refuses a routine that does none of what it is for.
void RoutineChecker::need_output(const Function& function) const {
  const Place& place = code_.place;
  const std::string name = "`" + std::string(function.name.text) + "`";
  if (!is_assigned()) {
    code_.refuse(function.at, name + " never assigns `" + std::string(place.output->name) + "`",
                 place.makes_gradient() ? "write `gradient = map(...);`" : "write `compressed = concat(...);`");
  }
  if (place.kind == RoutineKind::kDecode && place.routine->extracted.empty()) {
    code_.refuse(function.at, name + " extracts nothing", "write `extract(compressed, ...);`");
  }
  if (place.kind == RoutineKind::kSynchronize && code_.program.rounds == 0) {
    code_.refuse(function.at, name + " exchanges nothing",
                 "write `float* sum = exchange(x);` for what is to be added up over the ranks");
  }
}

bool RoutineChecker::is_assigned() const {
  const Routine& routine = *code_.place.routine;
  return code_.place.makes_gradient() ? routine.result != nullptr : !routine.sections.empty();
}

void RoutineChecker::assign_output(const Statement& at, const Word& name, const Expression& value) {
  const Control* const control = code_.place.control;
  const std::string quoted = "`" + std::string(name.text) + "`";
  if (control != nullptr && control->conditions != 0) {
    code_.refuse(at.at, quoted + " is assigned in a branch", "assign it once, behind the branches");
  }
  if (is_assigned()) code_.refuse(at.at, quoted + " is assigned twice");
  code_.place.makes_gradient() ? assign_gradient(name, value) : code_.sections.assign_sections(name, value);
}

void RoutineChecker::assign_gradient(const Word& name, const Expression& value) {
  const std::string quoted = "`" + std::string(name.text) + "`";
  TermPtr result = code_.expressions.check_array(value, quoted);
  const Type type = result->type();
  if (type.element != kFloatType) {
    code_.refuse(value.at, quoted + " has elements of type float, this has " + text_of(type.element));
  }
  if (!type.is_over(Extent::Kind::kElements)) {
    code_.refuse(value.at, quoted + " has n elements, this has " + code_.sizes.text_of(*type.extent));
  }
  code_.place.routine->result = std::move(result);
}

}  // namespace casync::compll
