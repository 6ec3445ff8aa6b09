// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/status.h"
#include "runtime/transport/transport.h"

namespace casync::runtime {

/// A fault that a test can inject into a wire message between two ranks.
enum class WireFault : std::uint8_t {
  kNone,
  kDrop,            ///< it never arrives
  kCorruptPayload,  ///< one bit of its last byte flips
  kCorruptHeader,   ///< one bit of its header flips
  kTruncate,        ///< its last byte is missing
  kDuplicate,       ///< it arrives twice
};

/// Reordering and faults of the loopback transport. Default: none.
struct LoopbackOptions {
  /// Not 0: this rank takes what arrived in a random order, and leaves some of it for later.
  std::uint64_t shuffle_seed = 0;
  /// Asked for each wire message this rank sends, on its own thread; `number` counts them from 0.
  std::function<WireFault(Rank to, std::uint64_t number)> fault = nullptr;
};

/// All ranks in one process: each has its own transport and, usually, thread. Ranks find one another by the
/// epoch. Payloads are copied when they are sent.
/// InvalidArgument: this rank of this epoch exists already.
Result<std::unique_ptr<Transport>> make_loopback(const TransportOptions& options, const LoopbackOptions& loopback = {});

}  // namespace casync::runtime
