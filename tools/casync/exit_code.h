// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "base/units.h"

namespace casync::tools {

/// The command's exit codes, the same in every subcommand; scripts rely on the numbers. `run` alone passes
/// on the code of the program it ran.
enum ExitCode : int {
  kExitOk = 0,
  kExitFailure = 1,
  kExitUsage = 2,    ///< the command line was not understood; nothing was done
  kExitRefused = 3,  ///< the input was understood and is wrong
  kExitPeer = 4,     ///< another rank failed, or a deadline passed
};

/// The code that a Status ends the command with.
ExitCode exit_code_of(const Status& status);

/// Prints "casync WHAT: MESSAGE" to stderr and returns the Status's exit code.
ExitCode fail(const char* what, const Status& status);

/// The same on one rank of a job: refused input is the same for all ranks of a machine, so its first one alone prints
/// it.
ExitCode fail_on_rank(const char* what, const Status& status, Rank local_rank);

}  // namespace casync::tools
