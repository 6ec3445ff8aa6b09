// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/units.h"
#include "runtime/control/deadline.h"
#include "runtime/executor/ready_queue.h"

namespace casync::runtime {

/// What waits to be sent to one peer, and what is under way.
///
/// Only so much is handed to the transport at once that the link stays busy: what becomes ready later but is
/// needed sooner can then overtake. That limit must not become an order between ranks: when the peer takes
/// nothing for kStall (it may be waiting for a message still queued here), more is handed over.
struct PeerLink {
  static constexpr Bytes kWindow = 4_MiB;
  static constexpr std::chrono::milliseconds kStall{2};

  ReadyQueue ready;
  Bytes in_flight = 0;
  int messages_in_flight = 0;
  Clock::time_point moved;  ///< when something was last handed over or completed

  bool open(Clock::time_point now) const {
    return in_flight < kWindow || messages_in_flight < 2 || now - moved >= kStall;
  }
};

}  // namespace casync::runtime
