// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/wire/address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "base/network_interface.h"
#include "base/thread.h"
#include "runtime/control/wire/fd.h"

namespace casync::runtime {
namespace {

const sockaddr_in& v4(const sockaddr_storage& storage) { return reinterpret_cast<const sockaddr_in&>(storage); }
const sockaddr_in6& v6(const sockaddr_storage& storage) { return reinterpret_cast<const sockaddr_in6&>(storage); }

socklen_t size_of(int family) { return family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6); }

struct Interface {
  std::string name;
  SocketAddress address;
};

/// Addresses of interfaces that are up, IPv4 first.
std::vector<Interface> all_interfaces() {
  std::vector<Interface> found;
  for (const InterfaceAddress& each : casync::interface_addresses()) {
    const auto* address = reinterpret_cast<const sockaddr*>(&each.address);
    found.push_back({each.name, SocketAddress(address, size_of(address->sa_family))});
  }
  std::stable_sort(found.begin(), found.end(), [](const Interface& a, const Interface& b) {
    return a.address.family() == AF_INET && b.address.family() != AF_INET;
  });
  return found;
}

/// Adds this machine's address that a packet to `target` would carry. Connecting a datagram socket sends nothing.
void add_route_source(const char* target, std::vector<SocketAddress>* found) {
  auto addresses = resolve({target, 9});
  if (!addresses) return;
  const SocketAddress& to = addresses->front();
  const Fd fd(socket(to.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage own = {};
  socklen_t size = sizeof(own);
  if (!fd || connect(fd.get(), to.get(), to.size()) != 0) return;
  if (getsockname(fd.get(), reinterpret_cast<sockaddr*>(&own), &size) != 0) return;
  found->push_back(SocketAddress(reinterpret_cast<sockaddr*>(&own), size).with_port(0));
}

}  // namespace

Result<HostPort> parse_host_port(std::string_view text) {
  const auto bad = [&] {
    return invalid_argument(fmt::format("\"{}\" is no address: use \"host:port\" or \"[ipv6]:port\"", text));
  };
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return bad();
  std::string_view host = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  if (host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return bad();
  }
  HostPort result{std::string(host), 0};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), result.port);
  if (host.empty() || error != std::errc() || end != digits.data() + digits.size()) return bad();
  return result;
}

SocketAddress::SocketAddress(const sockaddr* address, socklen_t size)
    : size_(std::min<socklen_t>(size, sizeof(storage_))) {
  std::memcpy(&storage_, address, size_);
}

bool SocketAddress::is_loopback() const {
  if (family() == AF_INET) return ntohl(v4(storage_).sin_addr.s_addr) >> 24 == 127;
  return IN6_IS_ADDR_LOOPBACK(&v6(storage_).sin6_addr);
}

bool SocketAddress::is_wildcard() const {
  if (family() == AF_INET) return v4(storage_).sin_addr.s_addr == htonl(INADDR_ANY);
  return IN6_IS_ADDR_UNSPECIFIED(&v6(storage_).sin6_addr);
}

std::uint16_t SocketAddress::port() const {
  return ntohs(family() == AF_INET ? v4(storage_).sin_port : v6(storage_).sin6_port);
}

SocketAddress SocketAddress::with_port(std::uint16_t port) const {
  SocketAddress copy = *this;
  if (family() == AF_INET) {
    reinterpret_cast<sockaddr_in&>(copy.storage_).sin_port = htons(port);
  } else {
    reinterpret_cast<sockaddr_in6&>(copy.storage_).sin6_port = htons(port);
  }
  return copy;
}

std::string SocketAddress::host_text() const {
  std::array<char, NI_MAXHOST> host{};
  const int error = getnameinfo(get(), size_, host.data(), host.size(), nullptr, 0, NI_NUMERICHOST);
  return error == 0 ? host.data() : "?";
}

std::string SocketAddress::text() const {
  return family() == AF_INET6 ? fmt::format("[{}]:{}", host_text(), port()) : fmt::format("{}:{}", host_text(), port());
}

bool SocketAddress::operator==(const SocketAddress& other) const { return text() == other.text(); }

namespace {

constexpr Seconds kResolveTime{10};

Result<std::vector<SocketAddress>> ask_resolver(const HostPort& where, int flags) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | flags;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(where.host.c_str(), std::to_string(where.port).c_str(), &hints, &list);
  if (error != 0) {
    return unavailable(fmt::format("the host name \"{}\" does not resolve: {}", where.host, gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, freeaddrinfo);
  std::vector<SocketAddress> found;
  for (const addrinfo* i = list; i != nullptr; i = i->ai_next) found.emplace_back(i->ai_addr, i->ai_addrlen);
  return found;
}

/// A question to the resolver and its answer, owned by the asking thread and the one that waits.
struct Question {
  std::mutex mutex;
  std::condition_variable answered;
  std::optional<Result<std::vector<SocketAddress>>> answer;
};

}  // namespace

Result<std::vector<SocketAddress>> resolve(const HostPort& where) { return resolve(where, after(kResolveTime)); }

Result<std::vector<SocketAddress>> resolve(const HostPort& where, Clock::time_point deadline) {
  auto literal = ask_resolver(where, AI_NUMERICHOST);
  if (literal) return literal;
  return resolve_with([](const HostPort& name) { return ask_resolver(name, 0); }, where, deadline);
}

/// Runs getaddrinfo(3), which cannot be interrupted, on a thread of its own, and abandons it when it takes too long.
Result<std::vector<SocketAddress>> resolve_with(const Resolver& resolver, const HostPort& where,
                                                Clock::time_point deadline) {
  const auto question = std::make_shared<Question>();
  Result<std::thread> thread = start_thread("casync-resolve", [question, resolver, where] {
    auto answer = resolver(where);
    const std::lock_guard lock(question->mutex);
    question->answer = std::move(answer);
    question->answered.notify_all();
  });
  if (!thread) return thread.status();
  thread->detach();
  std::unique_lock lock(question->mutex);
  if (question->answered.wait_until(lock, deadline, [&] { return question->answer.has_value(); })) {
    return *question->answer;
  }
  return timeout_error(fmt::format("the host name \"{}\" was not resolved in time", where.host));
}

Result<std::vector<SocketAddress>> interface_addresses(std::span<const std::string> names) {
  if (names.empty()) return outward_addresses();
  std::vector<SocketAddress> found;
  const std::vector<Interface> all = all_interfaces();
  for (const std::string& name : names) {
    const std::size_t earlier = found.size();
    std::set<std::string> there;
    for (const Interface& i : all) {
      if (i.name == name) found.push_back(i.address);
      there.insert(i.name);
    }
    if (found.size() == earlier) {
      return invalid_argument(fmt::format("no network interface \"{}\" with an address is up here; there are: {}", name,
                                          fmt::join(there, ", ")));
    }
  }
  return found;
}

std::vector<SocketAddress> outward_addresses() {
  std::vector<SocketAddress> found;
  // Documentation networks: they are routed like any other and belong to nobody.
  add_route_source("192.0.2.1", &found);
  add_route_source("2001:db8::1", &found);
  if (!found.empty()) return found;
  for (const Interface& i : all_interfaces()) {
    if (!i.address.is_loopback()) found.push_back(i.address);
  }
  if (!found.empty()) return found;
  return *resolve({"127.0.0.1", 0});
}

}  // namespace casync::runtime
