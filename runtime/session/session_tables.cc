// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/session_tables.h"

#include <span>
#include <string>

#include "runtime/session/handles.h"

namespace casync::runtime {

Result<GradientRun*> SessionTables::run_of(Handle handle) const {
  const std::uint32_t index = index_of(handle);
  if (index < gradients.size() && submissions.reached(index, step_of(handle))) return gradients.run(index);
  return unknown(handle);
}

std::vector<std::uint64_t> SessionTables::completed() const {
  std::vector<std::uint64_t> keys;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const GradientRun* const run = gradients.run(i);
    if (submissions.in_step(i) && run != nullptr && run->step.completed() > step.number()) {
      keys.push_back(gradients.declared(i).key);
    }
  }
  return keys;
}

bool SessionTables::is_complete() const {
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    if (!submissions.in_step(i)) continue;
    const GradientRun* const run = gradients.run(i);
    if (run == nullptr || run->step.completed() <= step.number()) return false;
  }
  return true;
}

StepResult SessionTables::result() const {
  constexpr std::size_t kAhead = 8;
  const std::span<GradientRun* const> runs = gradients.runs();
  StepResult result;
  result.step = step.number();
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (i + kAhead < runs.size() && runs[i + kAhead] != nullptr) fetch_step_of(runs[i + kAhead]);
    if (!submissions.in_step(i) || runs[i]->step.is_finite()) continue;
    const std::string& name = runs[i]->spec.name;
    if (result.finite || name < result.first_non_finite) result.first_non_finite = name;
    result.finite = false;
  }
  return result;
}

}  // namespace casync::runtime
