// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/cuda/driver_api.h"

namespace casync::compll {

/// Makes a context the calling thread's, as long as this lives: the program's own is current again afterwards.
class ContextScope {
 public:
  ContextScope(const DriverApi& api, DriverApi::Handle context) : api_(api), code_(api.push_context(context)) {}
  ~ContextScope() {
    DriverApi::Handle popped = nullptr;
    if (code_ == 0) api_.pop_context(&popped);
  }
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

  DriverApi::Code code() const { return code_; }

 private:
  const DriverApi& api_;
  const DriverApi::Code code_;
};

}  // namespace casync::compll
