// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "base/units.h"
#include "runtime/transport/ucx/interface.h"

namespace casync::runtime {

/// A way to move bytes that UCX reports on this machine.
struct UcxResource {
  std::string transport;  ///< "rc_mlx5", "tcp", "posix"
  std::string device;     ///< "mlx5_0:1", "eth0", "memory"
  std::string interface;  ///< network interface of an RDMA device; "": it has none
};

/// Transports and devices that UCX may use.
struct UcxNetworks {
  std::string transports;  ///< UCX_TLS
  std::string devices;     ///< UCX_NET_DEVICES
  bool rdma = false;
};

/// Chooses for the transport `name`: "ucx" takes shared memory and RDMA where `found` has them, and TCP; "ucx:rdma" the
/// same but not without RDMA; "ucx:tcp" and "ucx:shm" one kind. TCP goes over `interface`. If the user named that
/// interface (`is_wanted`), only RDMA devices that belong to it are taken, else all.
/// InvalidArgument: another name. Unavailable: "ucx:rdma" and no RDMA device, with the devices that there are;
/// "ucx:shm" and no room for shared memory.
Result<UcxNetworks> choose_networks(const std::string& name, const Interface& interface, bool is_wanted,
                                    std::span<const UcxResource> found);

/// Size of a socket's buffer: twice the bytes that are under way at `bits_per_second` (0: unknown, taken for fast) and
/// a round trip of `round_trip`, from 256 KiB to 4 MiB, and at most an equal share of kSocketBudget for each of
/// `peers`.
Bytes socket_buffer_bytes(double bits_per_second, Seconds round_trip, int peers);

/// Most that all sockets of a rank may buffer in one direction, as long as that is 64 KiB for each.
inline constexpr Bytes kSocketBudget = 256_MiB;

}  // namespace casync::runtime
