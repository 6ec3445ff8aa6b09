// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/executor/link_pace.h"
#include "runtime/executor/ready_queue.h"

namespace casync::runtime {

/// What waits to be sent to one peer, and when the next of it may be handed to the transport.
struct PeerLink {
  ReadyQueue ready;
  LinkPace pace;
};

}  // namespace casync::runtime
