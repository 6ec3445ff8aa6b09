// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cuda/whole_names.h"

#include "compll/codegen/cuda/whole_routine.h"

namespace casync::compll {

void CudaNames::count_uses(const Term& term, std::size_t times) {
  if (term.op == Op::kVariable) uses_[term.variable] += times;
  for (const TermPtr& argument : term.arguments) {
    count_uses(*argument, times);
  }
  if (term.function) count_uses(*term.function);
}

void CudaNames::count_uses(const Body& body) {
  for (const TermPtr& result : body.results) count_uses(*result);
  count_uses(steps_in(body.steps));
}

void CudaNames::count_uses(const std::vector<const Step*>& steps) {
  for (std::size_t i = steps.size(); i-- > 0;) {
    std::size_t all = 0;
    for (const VariableId id : steps[i]->variables) all += uses_[id];
    if (all != 0) count_uses(*steps[i]->value, steps[i]->value->op == Op::kVariable ? all : 1);
  }
}

VariableId CudaNames::made_as(VariableId id) const {
  for (const Step* step : text_.steps) {
    if (step->variables.front() == id && step->value->op == Op::kVariable) return made_as(step->value->variable);
  }
  return id;
}

std::string CudaNames::block_size(const Constant& constant) {
  if (constant.dimension) return *constant.dimension == Dimension::kRows ? "n.rows" : "n.columns";
  return constant.parameter ? "static_cast<uint32_t>(" + parameter(*constant.parameter) + ")"
                            : std::to_string(constant.value) + "u";
}

std::string CudaNames::size(const Type& type) {
  if (!type.extent) return "1";
  const Constant& count = type.extent->count;
  std::string number = count.parameter ? "uint64_t(settings.parameters[" + std::to_string(*count.parameter) + "])"
                                       : "uint64_t{" + std::to_string(count.value) + "}";
  switch (type.extent->kind) {
    case Extent::Kind::kElements: break;
    case Extent::Kind::kBlocks: return "blocks_of(n, " + number + ")";
    case Extent::Kind::kFixed: return number;
    case Extent::Kind::kSized: return "size" + std::to_string(count.value);
  }
  return "n";
}

std::string CudaNames::declared_n(const Program& program) {
  return program.synchronize ? "const Matrix& n" : "uint64_t n";
}

std::string CudaNames::part_of(const Type& type) {
  return type.is_over(Extent::Kind::kSized) ? "part.evenly()" : "part";
}

std::vector<const Step*> steps_in(const std::vector<Step>& steps) {
  std::vector<const Step*> all;
  all.reserve(steps.size());
  for (const Step& step : steps) all.push_back(&step);
  return all;
}

}  // namespace casync::compll
