// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/clock.h"

namespace casync::runtime {

/// The interval of a rank's heartbeats, and the silence after which a rank counts as dead. Every limit on a peer's
/// silence, in the control plane and in the transports, is `dead`.
struct Pulse {
  Seconds beat{0.5};
  Seconds dead{5};
};

}  // namespace casync::runtime
