// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/keep_for_ever.h"

#include <mutex>
#include <utility>
#include <vector>

namespace casync::runtime {

void keep_for_ever(std::shared_ptr<void> thing) {
  static std::mutex mutex;
  static auto& kept = *new std::vector<std::shared_ptr<void>>;
  const std::lock_guard lock(mutex);
  kept.push_back(std::move(thing));
}

}  // namespace casync::runtime
