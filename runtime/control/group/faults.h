// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "runtime/control/group/messages.h"
#include "runtime/control/wire/identity.h"

namespace casync::runtime {

/// The sentences about a rank that failed: the same from the hub and from a member that sees the hub fail.

/// Its connection or process ended: "rank 2 (node7, pid 4711) died: connection closed". DataLoss stays DataLoss.
Abort died(const Identity& who, const Status& reason);
/// "rank 2 (node7, pid 4711): no sign of life for 5.0 s".
Abort silent(const Identity& who, Seconds silence);
/// It said goodbye while others wait for it in a collective call.
Abort left_early(const Identity& who, const std::string& what);

/// The cause as rank `self` reports it: the one to blame is told that it was expelled.
Status cause_for(Rank self, const Abort& abort);

}  // namespace casync::runtime
