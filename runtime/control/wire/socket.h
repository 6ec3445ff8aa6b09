// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/status.h"
#include "base/units.h"
#include "runtime/control/wire/address.h"
#include "runtime/control/wire/fd.h"

namespace casync::runtime {

/// A listening socket, non-blocking. Unavailable: cannot be bound (names the address and why); `error`, where given,
/// is then the errno.
Result<Fd> listen_on(const SocketAddress& address, int* error = nullptr);

/// A connected socket, non-blocking. Unavailable: refused, unreachable or not answered by the deadline.
Result<Fd> connect_to(const SocketAddress& address, Clock::time_point deadline);

/// No delay, keep-alive, and no unacknowledged byte older than `dead`.
void set_connection_options(int fd, Seconds dead);

/// The two ends of a connected socket. An empty address: the kernel does not say.
SocketAddress local_address(int fd);
SocketAddress peer_address(int fd);

/// Sends all of it by the deadline, waiting where needed. PeerFailure, Timeout.
Status send_all(int fd, std::string_view bytes, Clock::time_point deadline);

/// Waits for bytes and appends what is there, at least one. PeerFailure: closed or reset. Timeout.
Status receive_some(int fd, std::string* bytes, Clock::time_point deadline);

/// Milliseconds for poll(2): never negative, never early.
int poll_timeout(Clock::time_point deadline);

/// The system's words for an errno. Any thread.
std::string error_text(int error);

}  // namespace casync::runtime
