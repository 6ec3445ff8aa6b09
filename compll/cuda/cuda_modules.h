// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "compll/cuda/driver_api.h"

namespace casync::compll {

class CudaDevice;

/// Machine code that a device has loaded, until the device is closed.
class CudaModules {
 public:
  /// Unavailable: the driver refuses one of them.
  static Result<CudaModules> load(CudaDevice& device, std::span<const std::string> cubins);

  /// Returns the kernel of this name. Unavailable: none of the modules has it.
  Result<DriverApi::Handle> kernel(CudaDevice& device, const std::string& name) const;

 private:
  std::vector<DriverApi::Handle> modules_;
};

}  // namespace casync::compll
