// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/rendezvous/rendezvous.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "base/log.h"
#include "base/network_interface.h"
#include "runtime/control/wire/crypto.h"
#include "runtime/control/wire/socket.h"

namespace casync::runtime {
namespace {

const char* const kKey = "casync.rank0";
constexpr std::string_view kFirstLine = "casync rendezvous 1";
constexpr Bytes kTokenBytes = 32;
constexpr Seconds kBindTime{5};
constexpr Seconds kRivalTime{1};

/// Listens, and retries while the address is in use: a program that restarts at once finds its old port still bound.
Result<Fd> listen_patiently(const SocketAddress& address) {
  const Clock::time_point deadline = after(kBindTime);
  for (;;) {
    int error = 0;
    auto fd = listen_on(address, &error);
    if (fd || error != EADDRINUSE || Clock::now() >= deadline) return fd;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

Result<std::vector<SocketAddress>> addresses_to_bind(const GroupOptions& options) {
  if (options.address.empty()) return interface_addresses(listed_interfaces(options.interface_name));
  auto where = parse_host_port(options.address);
  if (!where) return where.status();
  auto addresses = resolve(*where);
  if (!addresses) return addresses;
  // Debian's /etc/hosts gives a machine's own name a loopback address, which nobody else can reach.
  const bool only_loopback = std::all_of(addresses->begin(), addresses->end(), [](auto& a) { return a.is_loopback(); });
  const bool is_name = where->host != "localhost" && where->host != addresses->front().host_text();
  if (only_loopback && is_name) {
    for (const SocketAddress& outward : outward_addresses()) addresses->push_back(outward.with_port(where->port));
  }
  return addresses;
}

/// Listens on each address that can be; fails when none can. `patient`: a port that is taken may become free.
Result<std::vector<Fd>> listen_on_all(const std::vector<SocketAddress>& addresses, bool patient) {
  std::vector<Fd> listeners;
  std::vector<SocketAddress> done;
  Status failure;
  for (const SocketAddress& address : addresses) {
    if (std::find(done.begin(), done.end(), address) != done.end()) continue;
    done.push_back(address);
    auto listener = patient ? listen_patiently(address) : listen_on(address);
    if (listener) {
      listeners.push_back(std::move(*listener));
    } else if (failure.is_ok()) {
      failure = listener.status();
    }
  }
  if (listeners.empty()) return failure;
  return listeners;
}

/// Listens on the first of the ports that is free.
Result<std::vector<Fd>> listen_on_first(const std::vector<SocketAddress>& addresses, int ports) {
  for (int i = 0; i < ports; ++i) {
    std::vector<SocketAddress> here;
    for (const SocketAddress& address : addresses) here.push_back(nth_port(address, i));
    auto listeners = listen_on_all(here, ports == 1);
    if (listeners) return listeners;
  }
  return listen_on_all(addresses, true);
}

std::vector<SocketAddress> reachable(const std::vector<Fd>& listeners) {
  std::vector<SocketAddress> addresses;
  for (const Fd& listener : listeners) {
    const SocketAddress bound = local_address(listener.get());
    if (!bound.is_wildcard()) {
      addresses.push_back(bound);
      continue;
    }
    for (const SocketAddress& outward : outward_addresses()) {
      if (outward.family() == bound.family()) addresses.push_back(outward.with_port(bound.port()));
    }
  }
  return addresses;
}

}  // namespace

Result<std::vector<Fd>> open_side_door(const GroupOptions& options) {
  GroupOptions anywhere = options;
  anywhere.address.clear();
  auto addresses = addresses_to_bind(anywhere);
  if (!addresses) return addresses.status();
  return listen_on_all(*addresses, false);
}

SocketAddress nth_port(const SocketAddress& address, int i) {
  return address.port() == 0 ? address : address.with_port(static_cast<std::uint16_t>(address.port() + i));
}

Status publish(Store& store, const Meeting& meeting) {
  std::vector<std::string> addresses;
  for (const SocketAddress& address : meeting.addresses) addresses.push_back(address.text());
  return store.set(kKey, fmt::format("{}\n{}\n{}\n", kFirstLine, fmt::join(addresses, " "), meeting.token));
}

Result<Meeting> look_up(Store& store, Clock::time_point deadline) {
  auto value = store.get(kKey, deadline);
  if (!value) return value.status();
  const std::size_t first = value->find('\n');
  const std::size_t second = first == std::string::npos ? first : value->find('\n', first + 1);
  if (second == std::string::npos || value->substr(0, first) != kFirstLine || value->back() != '\n') {
    return data_loss("the store's entry \"casync.rank0\" was not written by this library");
  }
  Meeting meeting;
  meeting.token = value->substr(second + 1, value->size() - second - 2);
  const std::string addresses = value->substr(first + 1, second - first - 1);
  for (std::size_t begin = 0; begin < addresses.size();) {
    const std::size_t end = std::min(addresses.find(' ', begin), addresses.size());
    auto where = parse_host_port(addresses.substr(begin, end - begin));
    if (!where) return where.status();
    auto resolved = resolve(*where, deadline);
    if (!resolved) return resolved.status();
    meeting.addresses.push_back(resolved->front());
    begin = end + 1;
  }
  return meeting;
}

std::string accident_token(const GroupOptions& options) {
  log().warn("no token: the key is made of address and job id (CASYNC_INSECURE), which keeps out accidents only");
  return sha256("casync accident token\n" + options.address + "\n" + options.job);
}

Result<OpenDoor> open_door(const GroupOptions& options) {
  auto addresses = addresses_to_bind(options);
  if (!addresses) return addresses.status();
  auto listeners = listen_on_first(*addresses, options.ports);
  if (!listeners) return listeners.status();
  std::vector<SocketAddress> addresses_here = reachable(*listeners);
  OpenDoor door{std::move(*listeners), std::move(addresses_here), options.token};
  for (const SocketAddress& address : door.published) log().info("rank 0 listens on {}", address.text());
  if (options.store == nullptr) {
    if (door.token.empty()) door.token = accident_token(options);
    return door;
  }
  const std::string drawn = door.token.empty() ? to_hex(random_bytes(kTokenBytes)) : "";
  if (!drawn.empty()) door.token = drawn;
  CASYNC_RETURN_IF_ERROR(publish(*options.store, {door.published, drawn}));
  return door;
}

Status find_rival(const GroupOptions& options, const Identity& self, const std::vector<SocketAddress>& own) {
  auto meeting = look_up(*options.store, Clock::now());
  if (!meeting || meeting->addresses == own) return Status::ok();
  const Status answer = find_hub(options, self, after(kRivalTime)).status();
  return answer.code() == StatusCode::kInvalidArgument ? answer : Status::ok();
}

}  // namespace casync::runtime
