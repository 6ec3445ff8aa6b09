// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/clock.h"

namespace casync::runtime {

/// A rank that waits so long for others to come says so, and again each time its wait has doubled.
inline constexpr Clock::duration kFirstReminder = std::chrono::seconds(10);

}  // namespace casync::runtime
