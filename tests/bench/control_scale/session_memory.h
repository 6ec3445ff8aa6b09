// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/status.h"
#include "base/units.h"

namespace casync::runtime::bench {

/// Resident bytes for each rank and each peer that it does not talk to. Three processes hold the sessions of 48, 96 and
/// 144 ranks, in rings, where each rank talks to two: of a + b x ranks + c x ranks^2 this is c. No threads may run.
Result<double> bytes_per_silent_peer(const std::string& transport);

}  // namespace casync::runtime::bench
