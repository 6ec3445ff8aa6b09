// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "compll/cuda/driver_api.h"

namespace casync::compll {

/// The facts about a device that its driver knows.
struct CudaFacts {
  std::string name;
  std::string architecture;  ///< `sm_90`
  /// Its address on the PCI bus, as the kernel writes it: `0000:3b:00.0`; empty if the driver does not say.
  std::string bus_address;
  int processors = 1;
};

/// Asks the driver. Returns its first error but one about the bus.
DriverApi::Code read_facts(const DriverApi& api, DriverApi::DeviceId device, CudaFacts& facts);

}  // namespace casync::compll
