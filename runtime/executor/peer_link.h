// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/executor/link_pace.h"
#include "runtime/executor/ready_queue.h"

namespace casync::runtime {

/// Most payload under way to all peers together: enough for sixteen fast links' windows. With more peers than that an
/// idle link may still begin a message.
inline constexpr Bytes kMostUnderWay = 16 * LinkPace::kWindow;

/// The sends that wait for one peer, and the pace at which they may be handed to the transport.
struct PeerLink {
  ReadyQueue ready;
  LinkPace pace;
  bool busy = false;  ///< listed as having something ready
  // With a coordinator.
  bool wanted = false;    ///< the coordinator has been asked
  bool granted = false;   ///< the coordinator has said yes
  bool in_grant = false;  ///< some of the granted bytes have not left
  Clock::time_point wanted_since{};
};

}  // namespace casync::runtime
