// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/support/instruction_sets.h"

#include <hwy/highway.h>

#include <cstdint>

namespace casync::compll {
namespace {

// The mock of 0 is none at all, so the plain instruction set is asked for by its own bit.
void use(std::int64_t targets) {
  hwy::SetSupportedTargetsForTest(targets);
  hwy::GetChosenTarget().DeInit();
}

std::vector<std::int64_t> targets() {
  std::vector<std::int64_t> all = hwy::SupportedAndGeneratedTargets();
  if (all.empty() || all.back() != HWY_STATIC_TARGET) all.push_back(HWY_STATIC_TARGET);
  return all;
}

}  // namespace

std::vector<std::string> instruction_sets() {
  std::vector<std::string> names;
  for (std::int64_t target : targets()) names.emplace_back(hwy::TargetName(target));
  return names;
}

UseInstructionSet::UseInstructionSet(const std::string& name) {
  for (std::int64_t target : targets()) {
    if (name == hwy::TargetName(target)) use(target);
  }
}

UseInstructionSet::~UseInstructionSet() { use(0); }

}  // namespace casync::compll
