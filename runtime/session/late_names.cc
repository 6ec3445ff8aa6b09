// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/late_names.h"

namespace casync::runtime {

void LateNames::claimed(const std::string& name) {
  const std::lock_guard lock(mutex_);
  claimed_.insert(name);
  needed_.erase(name);
}

bool LateNames::needed(const std::string& name, std::uint32_t step) {
  const std::lock_guard lock(mutex_);
  if (claimed_.count(name) != 0) return false;
  if (step < ended_) return true;
  needed_.emplace(name, step);
  return false;
}

std::vector<std::string> LateNames::end(std::uint32_t step) {
  const std::lock_guard lock(mutex_);
  ended_ = step + 1;
  std::vector<std::string> late;
  for (const auto& [name, needed_in] : needed_) {
    if (needed_in <= step) late.push_back(name);
  }
  return late;
}

void LateNames::go_to(std::uint32_t step) {
  const std::lock_guard lock(mutex_);
  ended_ = step;
}

}  // namespace casync::runtime
