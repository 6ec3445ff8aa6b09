// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/status.h"

namespace casync::runtime {

/// A network interface of this machine.
struct Interface {
  std::string name;
  bool is_ipv6 = false;        ///< it has no IPv4 address
  double bits_per_second = 0;  ///< as its driver says; 0: unknown
};

/// The network interface to use: `wanted`, or when that is "" the one of the default route, else the first that is
/// up, has an address and is not the loopback one, else the loopback one.
/// InvalidArgument: `wanted` is not up with an address (lists those that are).
Result<Interface> choose_interface(const std::string& wanted);

}  // namespace casync::runtime
