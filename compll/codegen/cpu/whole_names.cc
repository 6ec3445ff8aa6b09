// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cpu/whole_names.h"

namespace casync::compll {

WholeNames::WholeNames(const Program& program, const Routine& routine)
    : program_(program), uses_(program.variables.size(), 0) {
  for (const TermPtr& section : routine.sections) count_uses(*section);
  for (const VariableId id : routine.states_then) ++uses_[id];
  if (routine.result) count_uses(*routine.result);
  count_uses(routine.steps);
}

void WholeNames::count_uses(const Term& term) {
  if (term.op == Op::kVariable) ++uses_[term.variable];
  for (const TermPtr& argument : term.arguments) count_uses(*argument);
  if (term.function) count_uses(*term.function);
}

void WholeNames::count_uses(const Body& body) {
  for (const TermPtr& result : body.results) count_uses(*result);
  count_uses(body.steps);
}

/// Goes from the last step to the first: a variable without uses uses nothing.
void WholeNames::count_uses(const std::vector<Step>& steps) {
  for (std::size_t i = steps.size(); i-- > 0;) {
    if (uses(steps[i]) != 0) count_uses(*steps[i].value);
  }
}

std::size_t WholeNames::uses(const Step& step) const {
  std::size_t all = 0;
  for (const VariableId id : step.variables) all += uses_[id];
  return all;
}

std::string WholeNames::name(VariableId id) const {
  if (const auto other = other_names_.find(id); other != other_names_.end()) return other->second;
  return program_.variables[id].name + "_" + std::to_string(id);
}

std::string WholeNames::block_size(const Constant& constant) {
  return constant.parameter ? "static_cast<size_t>(" + in_parameters(*constant.parameter) + ")"
                            : "size_t{" + std::to_string(constant.value) + "}";
}

std::string WholeNames::size(const Type& type) {
  if (!type.extent) return "1";
  const Constant& count = type.extent->count;
  switch (type.extent->kind) {
    case Extent::Kind::kElements: break;
    case Extent::Kind::kBlocks: return "(n + " + block_size(count) + " - 1) / " + block_size(count);
    case Extent::Kind::kFixed: return block_size(count);
    case Extent::Kind::kSized: return "size" + std::to_string(count.value);
  }
  return "n";
}

}  // namespace casync::compll
