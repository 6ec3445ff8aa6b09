// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sched.h>

#include <string>
#include <vector>

namespace casync::tools {

/// The processors that this thread may run on, ascending; empty: the system does not say.
std::vector<int> usable_processors();

/// The part of `processors` that the index-th of `ranks` ranks, which all may run on them, can call its own; at least
/// one.
std::vector<int> share_of(const std::vector<int>& processors, int index, int ranks);

/// "0,1,6"
std::string text_of(const std::vector<int>& processors);

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
