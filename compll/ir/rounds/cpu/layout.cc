// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/rounds/cpu/layout.h"

#include "compll/ir/cannot_plan.h"

namespace casync::compll::cpu_turns {

Id Layout::value_of(VariableId id) {
  const ProgramVariable& variable = plan.program->variables[id];
  plan.values.push_back({variable.name, id, false, variable.type});
  return static_cast<Id>(plan.values.size() - 1);
}

Id Layout::temporary(const std::string& word, const Type& type) {
  plan.values.push_back({word, static_cast<std::uint32_t>(plan.temporaries++), true, type});
  return static_cast<Id>(plan.values.size() - 1);
}

void Layout::note(const std::string& what, const Array& array, const Type& type, double written) {
  if (!type.is_over(Extent::Kind::kElements)) return;
  plan.loops.push_back({what, 4 * static_cast<double>(array.reads.size()), written});
}

void Layout::refuse(const Term& term, const std::string& what) {
  throw CannotPlan{term.at, what + " in `synchronize`"};
}

void Layout::refuse(const Term& term) { refuse(term, "`" + std::string(name_of(term.op)) + "`"); }

}  // namespace casync::compll::cpu_turns
