// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"

namespace casync::tools {

/// A program that was started in a process group of its own: the group's id is `pid`.
struct Child {
  pid_t pid = -1;
  UniqueFd out, err;  ///< what it writes, to be read without blocking
};

/// Starts `program` (looked up in PATH) with exactly this environment and nothing to read. It is killed when the
/// calling thread ends. InvalidArgument: it cannot be executed; says why. Timeout: its file system holds it up.
Result<Child> start_child(std::span<const std::string> program, std::span<const std::string> environment);

}  // namespace casync::tools
