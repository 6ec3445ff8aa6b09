// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "runtime/control/rendezvous/group_options.h"
#include "runtime/control/wire/address.h"
#include "runtime/control/wire/fd.h"
#include "runtime/control/wire/identity.h"

namespace casync::runtime {

/// Rank 0's entry in the store: the addresses it listens on, and a token if none was set.
struct Meeting {
  std::vector<SocketAddress> addresses;
  std::string token;  ///< any bytes
};

/// Rank 0 puts its entry into the store. Errors as Store::set().
Status publish(Store& store, const Meeting& meeting);
/// Timeout: rank 0 has not published. DataLoss: something else is under that name.
Result<Meeting> look_up(Store& store, Clock::time_point deadline);

/// Rank 0's sockets: at `options.address`, on the interface, or where others most likely reach it. With a store and
/// no token it draws one; publishes both. Errors as listen_on, resolve, interface_addresses, the store's.
struct OpenDoor {
  std::vector<Fd> listeners;
  std::vector<SocketAddress> published;
  std::string token;
};
Result<OpenDoor> open_door(const GroupOptions& options);

/// Sockets on free ports, where children of this rank reach it. Errors as open_door.
Result<std::vector<Fd>> open_side_door(const GroupOptions& options);

/// The address with its port raised by `i`; port 0, any free one, stays.
SocketAddress nth_port(const SocketAddress& address, int i);

/// Checks that no second process with rank 0 has published in this one's place. Greets it as a joining rank would,
/// and returns its refusal (InvalidArgument, naming both); OK when there is none.
Status find_rival(const GroupOptions& options, const Identity& self, const std::vector<SocketAddress>& own);

/// For a bare address without a token: keeps out other jobs and scans, not an attacker. The log says so: once a join.
std::string accident_token(const GroupOptions& options);

/// The connection and keys with which a member was admitted.
struct Entrance {
  Fd fd;
  Identity hub;
  std::uint64_t epoch = 0;
  std::string key_in, key_out;
  std::string token;  ///< that both sides hold
  std::string early;  ///< bytes that came after the handshake
};

/// Finds rank 0 and proves itself, again and again until the deadline: rank 0 and its host's name may come late,
/// and what the store holds may be of a job that is over. Timeout, Unavailable, and rank 0's refusals.
Result<Entrance> find_hub(const GroupOptions& options, const Identity& self, Clock::time_point deadline);

}  // namespace casync::runtime
