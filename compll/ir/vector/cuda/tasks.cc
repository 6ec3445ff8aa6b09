// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/vector/cuda/tasks.h"

#include <algorithm>
#include <utility>

#include "compll/ir/vector/cuda/uses.h"

namespace casync::compll::cuda_vector {
namespace {

/// Returns true if the caller may not want what is made there: then it is made in the workspace.
bool needs_space(const Address& address) { return address.base == Address::Base::kStateOut; }

std::uint32_t bytes_of(ScalarType element) { return element == kDoubleType ? 8 : element == kBoolType ? 1 : 4; }

}  // namespace

std::uint32_t stages_of(const Routine& plan) {
  std::uint32_t stages = 1;
  for (const Task& task : plan.tasks) stages = std::max(stages, task.stage + 1);
  return stages;
}

void add(Routine& plan, std::uint32_t stage, Work work) { plan.tasks.push_back({stage, std::move(work)}); }

void add_own(Routine& plan, std::uint32_t stage, Work work, std::uint32_t chunks) {
  plan.tasks.push_back({stage, std::move(work), false, chunks});
}

void add_at_end(Routine& plan, std::uint32_t stage, Work work) { plan.tasks.push_back({stage, std::move(work), true}); }

SpaceId take(Routine& plan, Space space) {
  plan.workspace.push_back(std::move(space));
  return static_cast<SpaceId>(plan.workspace.size() - 1);
}

SpaceId take_elements(Routine& plan, const std::string& word, const Type& type, Zeros zeros) {
  return take(
      plan,
      {.word = word, .count = Space::Count::kElements, .bytes = bytes_of(type.element), .of = type, .zeros = zeros});
}

Address address_of(SpaceId space, ScalarType element) { return {Address::Base::kWorkspace, 0, element, space}; }

Address address_for(Routine& plan, std::optional<VariableId> id, const std::string& word, const Type& type) {
  const auto wanted = id ? plan.wanted.find(*id) : plan.wanted.end();
  if (wanted == plan.wanted.end()) return address_of(take_elements(plan, word, type), type.element);
  plan.made_there.insert(*id);
  Address address = wanted->second;
  if (needs_space(address)) address.space = take_elements(plan, word, type);
  return address;
}

bool is_made_there(const Routine& plan, VariableId id, Address::Base base, std::size_t index) {
  const VariableId made = made_as(plan, id);
  return plan.made_there.count(made) != 0 && plan.wanted.at(made).is(base, index);
}

}  // namespace casync::compll::cuda_vector
