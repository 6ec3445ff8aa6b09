// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace casync {

/// Prints the broken invariant with its place and ends the process. For our own faults only.
[[noreturn]] void check_failed(const char* condition, const char* file, int line);

}  // namespace casync

/// An invariant of ours. What a user or the network can cause is a Status, never this.
#define CASYNC_CHECK(condition) \
  (static_cast<bool>(condition) ? static_cast<void>(0) : ::casync::check_failed(#condition, __FILE__, __LINE__))
