// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/cuda/driver_api.h"

namespace casync::compll {

/// Makes a context the calling thread's, as long as this lives: the program's own is current again afterwards. Calls
/// meanwhile end no capture of a stream into a graph, which the program may have begun on any thread: no such stream is
/// one of this library's.
class ContextScope {
 public:
  ContextScope(const DriverApi& api, DriverApi::Handle context)
      : api_(api),
        code_(api.push_context(context)),
        exchanged_(code_ == 0 && api.exchange_capture_mode(&capture_mode_) == 0) {}
  ~ContextScope() {
    if (exchanged_) api_.exchange_capture_mode(&capture_mode_);
    DriverApi::Handle popped = nullptr;
    if (code_ == 0) api_.pop_context(&popped);
  }
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

  DriverApi::Code code() const { return code_; }

 private:
  const DriverApi& api_;
  const DriverApi::Code code_;
  int capture_mode_ = DriverApi::kRelaxedCapture;  ///< the program's, once it is exchanged
  const bool exchanged_;
};

}  // namespace casync::compll
