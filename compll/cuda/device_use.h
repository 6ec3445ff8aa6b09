// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "compll/cuda/context_scope.h"
#include "compll/cuda/cuda_device.h"

namespace casync::compll {

/// The use of a device by the calling thread: its context is the thread's as long as this lives. False: the device has
/// failed, or fails now.
class DeviceUse {
 public:
  explicit DeviceUse(CudaDevice& device)
      : device_(device),
        scope_(device.api(), device.context()),
        ok_(device.status().is_ok() && went_well(scope_.code(), "its context")) {}
  explicit operator bool() const { return ok_; }

  /// Returns true if the call succeeded; otherwise the device has failed.
  bool went_well(DriverApi::Code code, const char* what) const {
    if (code != 0) device_.fail(std::string(what) + ": " + text_of(device_.api(), code));
    return code == 0;
  }

 private:
  CudaDevice& device_;
  ContextScope scope_;
  bool ok_;
};

}  // namespace casync::compll
