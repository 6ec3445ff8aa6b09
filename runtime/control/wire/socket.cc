// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/wire/socket.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

namespace casync::runtime {
namespace {

void set_int(int fd, int level, int name, int value) { setsockopt(fd, level, name, &value, sizeof(value)); }

/// Waits for one event; 0 on time-out.
int wait_for(int fd, short events, Clock::time_point deadline) {
  pollfd entry{fd, events, 0};
  for (;;) {
    const int ready = poll(&entry, 1, poll_timeout(deadline));
    if (ready >= 0 || errno != EINTR) return ready;
  }
}

SocketAddress address_of(int fd, int (*get)(int, sockaddr*, socklen_t*)) {
  sockaddr_storage storage = {};
  socklen_t size = sizeof(storage);
  if (get(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return {};
  return {reinterpret_cast<sockaddr*>(&storage), size};
}

}  // namespace

std::string error_text(int error) { return std::generic_category().message(error); }

int poll_timeout(Clock::time_point deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<long long>(left, 0, 1 << 30));
}

SocketAddress local_address(int fd) { return address_of(fd, getsockname); }
SocketAddress peer_address(int fd) { return address_of(fd, getpeername); }

Result<Fd> listen_on(const SocketAddress& address, int* error) {
  const auto failed = [&] {
    const int why = errno;
    if (error != nullptr) *error = why;
    const char* hint = why == EADDRNOTAVAIL ? ": it is not an address of this machine; rank 0 must run there"
                       : why == EADDRINUSE  ? ": another rank 0 or another program listens there"
                                            : "";
    return unavailable(fmt::format("cannot listen on {}: {}{}", address.text(), error_text(why), hint));
  };
  Fd fd(socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return failed();
  set_int(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);  // a restarted job finds its port at once
  if (address.family() == AF_INET6) set_int(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1);
  if (bind(fd.get(), address.get(), address.size()) != 0 || listen(fd.get(), SOMAXCONN) != 0) return failed();
  return fd;
}

Result<Fd> connect_to(const SocketAddress& address, Clock::time_point deadline) {
  const auto failed = [&](const std::string& why) {
    return unavailable(fmt::format("cannot connect to {}: {}", address.text(), why));
  };
  Fd fd(socket(address.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return failed(error_text(errno));
  if (connect(fd.get(), address.get(), address.size()) != 0) {
    if (errno != EINPROGRESS) return failed(error_text(errno));
    if (wait_for(fd.get(), POLLOUT, deadline) <= 0) return failed("no answer; is a firewall in between?");
    int error = 0;
    socklen_t size = sizeof(error);
    getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return failed(error_text(error));
  }
  // The kernel may connect a socket to itself if a local port of the ephemeral range has no listener.
  if (local_address(fd.get()) == address) return failed(error_text(ECONNREFUSED));
  return fd;
}

void set_connection_options(int fd, Seconds dead) {
  const int seconds = std::max(1, static_cast<int>(dead.count() / 3));
  set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_int(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_int(fd, IPPROTO_TCP, TCP_KEEPIDLE, seconds);
  set_int(fd, IPPROTO_TCP, TCP_KEEPINTVL, seconds);
  set_int(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
  set_int(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(dead.count() * 1000));
}

Status send_all(int fd, std::string_view bytes, Clock::time_point deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<Bytes>(sent));
    } else if (errno == EAGAIN) {
      if (wait_for(fd, POLLOUT, deadline) == 0) return timeout_error("not sent in time");
    } else if (errno != EINTR) {
      return peer_failure(error_text(errno));
    }
  }
  return Status::ok();
}

Status receive_some(int fd, std::string* bytes, Clock::time_point deadline) {
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t got = recv(fd, buffer.data(), buffer.size(), 0);
    if (got > 0) {
      bytes->append(buffer.data(), static_cast<std::size_t>(got));
      return Status::ok();
    }
    if (got == 0) return peer_failure("connection closed");
    if (errno == EAGAIN) {
      if (wait_for(fd, POLLIN, deadline) == 0) return timeout_error("no answer in time");
    } else if (errno != EINTR) {
      return peer_failure(error_text(errno));
    }
  }
}

}  // namespace casync::runtime
