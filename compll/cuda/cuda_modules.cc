// SPDX-License-Identifier: Apache-2.0
#include "compll/cuda/cuda_modules.h"

#include "compll/cuda/cuda_device.h"
#include "compll/cuda/device_use.h"

namespace casync::compll {

Result<CudaModules> CudaModules::load(CudaDevice& device, std::span<const std::string> cubins) {
  CudaModules loaded;
  for (const std::string& cubin : cubins) {
    const DeviceUse use(device);
    if (!use) return device.status();
    DriverApi::Handle module = nullptr;
    const DriverApi::Code code = device.api().load_module(&module, cubin.data());
    if (code != 0) {
      return unavailable(device.facts().name +
                         ": the driver does not load the kernels: " + text_of(device.api(), code));
    }
    device.own(module);
    loaded.modules_.push_back(module);
  }
  return loaded;
}

Result<DriverApi::Handle> CudaModules::kernel(CudaDevice& device, const std::string& name) const {
  DriverApi::Code code = 0;
  for (const DriverApi::Handle module : modules_) {
    DriverApi::Handle kernel = nullptr;
    const DeviceUse use(device);
    if (!use) return device.status();
    code = device.api().function(&kernel, module, name.c_str());
    if (code == 0) return kernel;
  }
  return unavailable(device.facts().name + ": kernel " + name + ": " + text_of(device.api(), code));
}

}  // namespace casync::compll
