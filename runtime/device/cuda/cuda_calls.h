// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>

#include "base/status.h"
#include "compll/cuda/context_scope.h"
#include "compll/cuda/cuda_device.h"
#include "compll/cuda/driver_api.h"

namespace casync::runtime {

/// Calls of the driver for one device, and the words for their errors. Any thread.
class CudaCalls {
 public:
  using Api = compll::DriverApi;

  /// `name`: "cuda:0 (NVIDIA H200)".
  CudaCalls(const Api& api, Api::Handle context, std::string name)
      : api_(api), context_(context), name_(std::move(name)) {}

  const Api& api() const { return api_; }
  const std::string& name() const { return name_; }

  /// `call(api)` with the device's context current. Unavailable: `what` it was, and the driver's words.
  template <class Call>
  Status operator()(const char* what, const Call& call) const {
    const Api::Code code = in_context(call);
    return code == 0 ? Status::ok() : error(what, code);
  }
  template <class Call>
  Api::Code in_context(const Call& call) const {
    const compll::ContextScope scope(api_, context_);
    return scope.code() != 0 ? scope.code() : call(api_);
  }
  /// Unavailable: `what` it was, the driver's words, and the remedy if this process cannot use the device any more.
  Status error(const std::string& what, Api::Code code) const {
    const char* const remedy = Api::lasts(code) ? ": this process cannot use the GPU any more: start it again" : "";
    return unavailable(name_ + ": " + what + ": " + compll::text_of(api_, code) + remedy);
  }

 private:
  const Api& api_;
  const Api::Handle context_;
  const std::string name_;
};

}  // namespace casync::runtime
