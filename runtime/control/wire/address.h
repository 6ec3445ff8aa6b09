// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/status.h"

namespace casync::runtime {

/// A host's name or address, and a port.
struct HostPort {
  std::string host;
  std::uint16_t port = 0;
};

/// "host:port", "1.2.3.4:port", "[::1]:port". InvalidArgument: anything else.
Result<HostPort> parse_host_port(std::string_view text);

/// An IPv4 or IPv6 address with its port.
class SocketAddress {
 public:
  SocketAddress() = default;
  SocketAddress(const sockaddr* address, socklen_t size);

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage_); }
  socklen_t size() const { return size_; }
  int family() const { return storage_.ss_family; }
  bool is_loopback() const;
  bool is_wildcard() const;
  std::uint16_t port() const;
  SocketAddress with_port(std::uint16_t port) const;
  /// "10.0.0.1", "fe80::1%eth0".
  std::string host_text() const;
  /// "10.0.0.1:29400", "[::1]:29400": what parse_host_port reads.
  std::string text() const;
  bool operator==(const SocketAddress& other) const;

 private:
  sockaddr_storage storage_ = {};
  socklen_t size_ = 0;
};

/// All addresses of a name or literal. Unavailable: the name does not resolve, and why. Timeout: the system's resolver,
/// which has limits of its own, has not answered by the deadline. Literals never wait.
Result<std::vector<SocketAddress>> resolve(const HostPort& where, Clock::time_point deadline);
/// The same with 10 s.
Result<std::vector<SocketAddress>> resolve(const HostPort& where);

/// The function by which resolve() looks a name up; tests pass their own. Runs on a thread that may outlive the call.
using Resolver = std::function<Result<std::vector<SocketAddress>>(const HostPort&)>;
Result<std::vector<SocketAddress>> resolve_with(const Resolver& resolver, const HostPort& where,
                                                Clock::time_point deadline);

/// Addresses of these network interfaces in their order, of each IPv4 first; without names as outward_addresses().
/// InvalidArgument: there is no interface of such a name (lists those there are), or it has no address.
Result<std::vector<SocketAddress>> interface_addresses(std::span<const std::string> names);

/// The addresses other machines most likely reach this one by: those of the default route, else of any interface
/// that is up, else loopback. Never empty.
std::vector<SocketAddress> outward_addresses();

}  // namespace casync::runtime
