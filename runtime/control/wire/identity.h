// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "base/units.h"
#include "runtime/control/wire/wire.h"

namespace casync::runtime {

/// The version of what follows the handshake. The handshake itself keeps its layout for good, so that any two
/// versions can tell each other who they are.
inline constexpr std::uint32_t kControlProtocol = 3;

/// A process of the job, as it introduces itself.
struct Identity {
  Rank rank = 0;
  int ranks = 1;
  std::string host;
  int pid = 0;
  std::uint64_t started = 0;  ///< clock ticks from boot to this process's start: tells a reused pid
  std::string machine;        ///< boot id and PID namespace: equal means pids mean the same
  std::uint32_t protocol = kControlProtocol;
  std::string version;  ///< of this library
  std::string abi;      ///< of the build: word size and byte order

  /// "rank 2 (node7, pid 4711)".
  std::string text() const;
  /// Returns true if both are the same process, as two of its ranks maybe.
  bool is_process_of(const Identity& other) const;
  /// "casync 0.1.0 (protocol 3, 64-bit little-endian)".
  std::string build() const;
};

/// The identity of this process, as this rank.
Identity own_identity(Rank rank, int ranks);

/// An identity as bytes of a packet, and back.
void write_identity(WireWriter& writer, const Identity& identity);
/// Check reader.ok() afterwards.
Identity read_identity(WireReader& reader);

/// Clock ticks from boot to the start of this process, 0 when there is no such process.
std::uint64_t start_of_process(int pid);

}  // namespace casync::runtime
