// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/bell.h"

namespace casync::runtime {

void Bell::ring(void* bell) {
  auto& self = *static_cast<Bell*>(bell);
  const std::lock_guard lock(self.mutex_);
  if (self.transport_ != nullptr) self.transport_->wake();
  self.rung_.fetch_add(1);
}

bool Bell::silence() {
  const std::lock_guard lock(mutex_);
  transport_ = nullptr;
  return is_at_rest();
}

}  // namespace casync::runtime
