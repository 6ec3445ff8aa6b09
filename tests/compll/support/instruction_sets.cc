// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/support/instruction_sets.h"

#include <hwy/highway.h>

#include <cstdint>

#include "compll/codec/written.h"

namespace casync::compll {
namespace {

/// Sets for which the library has no kernels of its own: its plain ones would run a second time.
constexpr std::int64_t kLibraryLacks = CASYNC_KERNELS_LACK;

struct Targets {
  std::int64_t supported = hwy::SupportedTargets();
  std::vector<std::int64_t> each = hwy::SupportedAndGeneratedTargets();
};

/// Asks the processor once: on a virtual machine the answer takes longer than most encodings.
const Targets& targets() {
  static const Targets all = [] {
    Targets found;
    if (found.each.empty() || found.each.back() != HWY_STATIC_TARGET) found.each.push_back(HWY_STATIC_TARGET);
    return found;
  }();
  return all;
}

std::vector<std::string> names_without(std::int64_t lacking) {
  std::vector<std::string> names;
  for (const std::int64_t target : targets().each) {
    if ((target & lacking) == 0) names.emplace_back(hwy::TargetName(target));
  }
  return names;
}

}  // namespace

std::vector<std::string> instruction_sets() { return names_without(kLibraryLacks); }

std::vector<std::string> instruction_sets(std::string_view codec) {
  return written_source(codec).empty() ? names_without(0) : instruction_sets();
}

// The mock of 0 is none at all, so the plain instruction set is asked for by its own bit.
UseInstructionSet::UseInstructionSet(const std::string& name) {
  for (const std::int64_t target : targets().each) {
    if (name != hwy::TargetName(target)) continue;
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().DeInit();
  }
}

UseInstructionSet::~UseInstructionSet() {
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(targets().supported);
}

}  // namespace casync::compll
