// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/executor/link_pace.h"
#include "runtime/executor/ready_queue.h"

namespace casync::runtime {

/// Most payload under way to all peers together: enough for sixteen fast links' windows. With more peers than that an
/// idle link may still begin a message.
inline constexpr Bytes kMostUnderWay = 16 * LinkPace::kWindow;

/// What waits to be sent to one peer, and when the next of it may be handed to the transport.
struct PeerLink {
  ReadyQueue ready;
  LinkPace pace;
  bool busy = false;  ///< listed as having something ready
  // With a coordinator.
  bool wanted = false;    ///< it has been asked
  bool granted = false;   ///< it has said yes
  bool in_grant = false;  ///< what it let go has not all left
  Clock::time_point wanted_since{};
};

}  // namespace casync::runtime
