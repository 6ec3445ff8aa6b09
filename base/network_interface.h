// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <string>
#include <string_view>
#include <vector>

namespace casync {

/// One address of a network interface of this machine.
struct InterfaceAddress {
  std::string name;  ///< of the interface
  bool is_loopback = false;
  sockaddr_storage address{};  ///< IPv4 or IPv6, port 0
};

/// All addresses of interfaces that are up, in the system's order, but for link-local ones: without a zone they mean
/// nothing on another machine. Empty where the system does not say.
std::vector<InterfaceAddress> interface_addresses();

/// Names of interfaces as a user lists them, "eth0,eth1"; spaces and empty names are left out.
std::vector<std::string> listed_interfaces(std::string_view list);

}  // namespace casync
