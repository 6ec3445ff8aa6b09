// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/vector/cpu/copies.h"

#include "compll/ir/vector/cpu/fuse_loops.h"

namespace casync::compll::cpu_vector {

std::optional<std::size_t> Copies::take(std::optional<VariableId> id) {
  const auto wanted = id ? states_.find(*id) : states_.end();
  if (wanted == states_.end()) return std::nullopt;
  made_.insert(*id);
  return wanted->second;
}

/// Stores an array for a variable, in the memory of the state that it becomes if there is one.
void Copies::store(VariableId id, Copy copy) {
  copy.state = take(id);
  fusion_.add(copy);
  fusion_.loop.add(CopyElements{copy}, copy.from);
}

void Copies::begin(VariableId id, Id array) {
  if (states_.count(id) != 0 && !is_made(id)) store(id, {array, {}, {}});
  const auto found = fusion_.plan.copied_by.find(id);
  if (found == fusion_.plan.copied_by.end()) return;
  for (const VariableId scatter : found->second) {
    const Id copy = fusion_.value_of(scatter);
    store(scatter, {array, copy, {}});
    copied_.insert(scatter);
    same_elements_[id] = copy;
  }
}

bool Copies::take_copy(std::optional<VariableId> id) {
  if (!id || copied_.count(*id) == 0) return false;
  const Id copy = fusion_.value_of(*id);
  std::erase_if(same_elements_, [&](const auto& each) { return each.second == copy; });
  return true;
}

std::optional<Id> Copies::copy_of(const Term& variable) const {
  const auto copy = variable.op == Op::kVariable ? same_elements_.find(variable.variable) : same_elements_.end();
  return copy == same_elements_.end() ? std::nullopt : std::optional<Id>(copy->second);
}

}  // namespace casync::compll::cpu_vector
