// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cuda/whole_plan.h"

#include <algorithm>

#include "compll/codegen/cuda/whole_routine.h"
#include "compll/lang/terms.h"

namespace casync::compll {

CudaPlanned& CudaPlan::planned_of(const Term& term) {
  return term.op == Op::kVariable ? values_.at(term.variable) : terms_.at(&term);
}

void CudaPlan::define(const CudaPlanned& planned) {
  if (defined_.insert(planned.name).second) planned.define();
}

void CudaPlan::define_memory(const std::string& name, const std::string& type, const std::string& address) {
  text_.out.line("const Array<" + type + "> " + name + "{" + address + "};");
}

Ready CudaPlan::ready(const Term& term) const {
  if (term.op == Op::kVariable) {
    const auto found = values_.find(term.variable);
    return found == values_.end() ? Ready{} : found->second.ready;
  }
  if (term.type().is_array()) return terms_.at(&term).ready;
  const std::uint32_t stage = ready_of_scalar(term);
  return {stage, stage};
}

std::uint32_t CudaPlan::ready_to_share(const Term& term) const {
  return CudaNames::is_of_blocks(term.type()) ? ready(term).all : ready(term).own;
}

std::uint32_t CudaPlan::ready_of_scalar(const Term& term) const {
  if (term.op == Op::kSize) return 0;
  if (reduces_array(term)) return reductions_.at(&term).ready.all;
  if (term.op == Op::kVariable) return ready(term).all;
  std::uint32_t stage = term.op == Op::kElement ? ready(*term.arguments[0]).all : 0;
  for (const TermPtr& argument : term.arguments) {
    if (!argument->type().is_array()) stage = std::max(stage, ready_of_scalar(*argument));
  }
  return stage;
}

std::uint32_t CudaPlan::ready_of_function(const Body& body) const {
  std::uint32_t stage = 0;
  for (const Step& step : body.steps) stage = std::max(stage, ready_of_scalar(*step.value));
  for (const TermPtr& result : body.results) stage = std::max(stage, ready_of_scalar(*result));
  return stage;
}

std::string CudaPlan::name_of_variable(VariableId id) {
  if (const auto own = in_body_.find(id); own != in_body_.end()) return own->second;
  const CudaPlanned& planned = values_.at(id);
  if (defined_.insert(planned.name).second) planned.define();
  return planned.name;
}

std::string CudaPlan::name_of_term(const Term& term) {
  const CudaPlanned& planned = reduces_array(term) ? reductions_.at(&term) : terms_.at(&term);
  if (defined_.insert(planned.name).second) planned.define();
  return planned.name;
}

std::string CudaPlan::array(const Term& term) {
  return term.op == Op::kVariable ? name_of_variable(term.variable) : name_of_term(term);
}

}  // namespace casync::compll
