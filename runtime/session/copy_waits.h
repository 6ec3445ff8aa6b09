// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "base/clock.h"

namespace casync::runtime {

/// The longest wait for copies of a device, which may never end them if it fails. Their memory is then kept.
inline constexpr Seconds kLongestCopy{10};

/// The pause between two looks at a copy: less than a large copy takes, and more than a look at an event.
inline constexpr std::chrono::microseconds kCopyPause{50};

}  // namespace casync::runtime
