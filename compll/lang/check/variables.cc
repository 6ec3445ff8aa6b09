// SPDX-License-Identifier: Apache-2.0
#include "compll/lang/check/variables.h"

#include <string>
#include <utility>

#include "compll/lang/check/code_checker.h"

namespace casync::compll {

void Variables::declare(const Word& word, decltype(Declared::what) what) {
  code_.count(word.at);
  if (names_.declared_here(word.text) != nullptr) {
    code_.refuse(word.at, "`" + std::string(word.text) + "` is declared twice", "give the second one another name");
  }
  names_.add({word.text, word.at, what});
}

void Variables::declare_variable(const Word& word, DeclaredType type, std::optional<VariableId> value) {
  // A branch copies the values of all of them.
  if (values_.size() >= kMostSteps) code_.refuse(word.at, "more than " + std::to_string(kMostSteps) + " variables");
  declare(word, Declared::Variable{type, values_.size(), code_.place.level});
  spoilt_.erase(values_.size());
  values_.push_back(value);
}

VariableId Variables::new_variable(std::string_view name, Type type, Span at) {
  std::vector<ProgramVariable>& variables = code_.program.variables;
  if (variables.size() >= kMostSteps) {
    code_.refuse(at, "the program becomes too large here",
                 "call fewer functions inside of each other, repeat less often");
  }
  variables.push_back({std::string(name), type, at});
  return static_cast<VariableId>(variables.size() - 1);
}

std::vector<VariableId> Variables::keep(Terms values, std::string_view name, Span at) {
  std::vector<VariableId> kept;
  for (TermPtr& value : values) {
    Step step;
    for (const Type& type : value->types) step.variables.push_back(new_variable(name, type, at));
    kept.insert(kept.end(), step.variables.begin(), step.variables.end());
    step.value = std::move(value);
    code_.selections.note(step);
    if (code_.place.level == 0 && step.variables.size() == 1 && !step.value->type().is_array())
      elements_[step.variables.front()] = step.value.get();
    code_.place.steps->push_back(std::move(step));
  }
  return kept;
}

const Declared::Variable* Variables::find(std::string_view name) const {
  const Declared* declared = names_.find(name);
  return declared == nullptr ? nullptr : std::get_if<Declared::Variable>(&declared->what);
}

void Variables::spoil(std::string_view name) {
  if (const Declared::Variable* variable = find(name)) spoilt_.insert(variable->slot);
}

}  // namespace casync::compll
