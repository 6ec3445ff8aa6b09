// SPDX-License-Identifier: Apache-2.0
#include "compll/cuda/cuda_facts.h"

#include <array>
#include <cstdio>

namespace casync::compll {
namespace {

/// "0000:3b:00.0"; empty: the driver does not say.
std::string address_on_bus(const DriverApi& api, DriverApi::DeviceId device) {
  int domain = 0, bus = 0, slot = 0;
  const bool known = api.device_attribute(&domain, DriverApi::kPciDomain, device) == 0 &&
                     api.device_attribute(&bus, DriverApi::kPciBus, device) == 0 &&
                     api.device_attribute(&slot, DriverApi::kPciDevice, device) == 0;
  if (!known) return {};
  std::array<char, 32> text = {};
  std::snprintf(text.data(), text.size(), "%04x:%02x:%02x.0", domain, bus, slot);
  return text.data();
}

}  // namespace

DriverApi::Code read_facts(const DriverApi& api, DriverApi::DeviceId device, CudaFacts& facts) {
  std::array<char, 256> name = {};
  int major = 0, minor = 0;
  DriverApi::Code code = api.device_name(name.data(), static_cast<int>(name.size()), device);
  if (code == 0) code = api.device_attribute(&major, DriverApi::kMajor, device);
  if (code == 0) code = api.device_attribute(&minor, DriverApi::kMinor, device);
  if (code == 0) code = api.device_attribute(&facts.processors, DriverApi::kProcessors, device);
  facts.name = name.data();
  facts.architecture = "sm_" + std::to_string(major) + std::to_string(minor);
  if (code == 0) facts.bus_address = address_on_bus(api, device);
  return code;
}

}  // namespace casync::compll
