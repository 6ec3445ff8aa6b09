// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/rounds/cpu/storage.h"

#include "compll/lang/terms.h"

namespace casync::compll::cpu_turns {
namespace {

/// Returns true if elements can be computed where they are used.
bool is_lazy(const Term& term) {
  return term.op == Op::kMap || term.op == Op::kRange || term.op == Op::kSpread ||
         (term.op == Op::kMatmul && term.form == MatmulForm::kOuter);
}

/// Returns true if the first use of a matrix is a product with it.
bool is_filled_by_product(const std::vector<const Step*>& steps, std::size_t index) {
  const VariableId id = steps[index]->variables.front();
  const Type& type = steps[index]->value->type();
  if (!type.is_over(Extent::Kind::kElements) || type.element != kFloatType) return false;
  for (std::size_t i = index + 1; i < steps.size(); ++i) {
    const Term& first = *steps[i]->value;
    std::size_t uses = 0;
    for_each_term(first, [&](const Term& each) { uses += each.op == Op::kVariable && each.variable == id; });
    if (uses == 0) continue;
    const Term& of = first.arguments.empty() ? first : *first.arguments.front();
    return uses == 1 && first.op == Op::kMatmul && of.op == Op::kVariable && of.variable == id;
  }
  return false;
}

}  // namespace

void choose_storage(Turn& plan) {
  const std::vector<const Step*>& steps = plan.plan().steps;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Term& term = *steps[i]->value;
    const VariableId id = steps[i]->variables.front();
    if (steps[i]->variables.size() > 1 || term.op == Op::kVariable || !term.type().is_array()) continue;
    plan.storage[id] = !is_lazy(term)                                        ? Storage::kMade
                       : plan.wanted_at.count(id) == 0 && plan.uses[id] <= 1 ? Storage::kNowhere
                       : is_filled_by_product(steps, i)                      ? Storage::kBuffer
                                                                             : Storage::kMemory;
  }
}

}  // namespace casync::compll::cpu_turns
