// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/cuda/driver_api.h"

namespace casync::compll {

/// Makes calls of the calling thread end no capture of a stream into a graph, as long as this lives. The program may
/// have begun one on any thread: no such stream is one of this library's.
class RelaxedCapture {
 public:
  explicit RelaxedCapture(const DriverApi& api) : api_(api), exchanged_(api.exchange_capture_mode(&mode_) == 0) {}
  ~RelaxedCapture() {
    if (exchanged_) api_.exchange_capture_mode(&mode_);
  }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  const DriverApi& api_;
  int mode_ = DriverApi::kRelaxedCapture;  ///< the program's, once it is exchanged
  const bool exchanged_;
};

/// Makes a context the calling thread's, as long as this lives: the program's own is current again afterwards. Calls
/// meanwhile end no capture.
class ContextScope {
 public:
  ContextScope(const DriverApi& api, DriverApi::Handle context)
      : api_(api), relaxed_(api), code_(api.push_context(context)) {}
  ~ContextScope() {
    DriverApi::Handle popped = nullptr;
    if (code_ == 0) api_.pop_context(&popped);
  }
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

  DriverApi::Code code() const { return code_; }

 private:
  const DriverApi& api_;
  const RelaxedCapture relaxed_;
  const DriverApi::Code code_;
};

}  // namespace casync::compll
