// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/control/deadline.h"

namespace casync::runtime {

/// How often a rank says something, and how long it may be quiet until it counts as dead. Every limit on a peer's
/// silence, in the control plane and in the transports, is `dead`.
struct Pulse {
  Seconds beat{0.5};
  Seconds dead{5};
};

}  // namespace casync::runtime
