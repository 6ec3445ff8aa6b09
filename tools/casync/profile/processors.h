// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <vector>

#include "base/processors.h"

namespace casync::tools {

struct OwnProcessors {
  std::vector<int> processors;
  double ranks_of_each = 1;  ///< that may run on each of them
};

/// The part of `processors` that the index-th of `ranks` ranks, which all may run on them, can call its own; at least
/// one.
std::vector<int> share_of(const std::vector<int>& processors, int index, int ranks);

/// Keeps this thread, and those that it starts, on these processors while it lives. No processors: anywhere.
class StayOn {
 public:
  explicit StayOn(const std::vector<int>& processors);
  ~StayOn();
  StayOn(const StayOn&) = delete;
  StayOn& operator=(const StayOn&) = delete;

 private:
  cpu_set_t before_;
  bool changed_ = false;
};

}  // namespace casync::tools
