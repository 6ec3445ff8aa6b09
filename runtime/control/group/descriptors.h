// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/status.h"

namespace casync::runtime {

/// File descriptors that a process is about to open, besides those that are open.
struct DescriptorNeed {
  int least = 0;     ///< fewer are a failure later
  int wanted = 0;    ///< enough also while connections are replaced
  std::string what;  ///< "1023 data connections": for the error
};

/// Raises the process's soft limit of descriptors as far as `need.wanted` and the hard limit allow. Unavailable: fewer
/// than `need.least` are left, with the numbers and the ways to raise the limit. Any thread.
Status reserve_descriptors(const DescriptorNeed& need);

}  // namespace casync::runtime
