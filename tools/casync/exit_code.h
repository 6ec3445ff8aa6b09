// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

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

/// From now on errors are printed to stdout, too, as a JSON object: somebody reads --json.
void print_errors_as_json();

/// Prints "casync WHAT: MESSAGE" to stderr and returns the Status's exit code.
ExitCode fail(const char* what, const Status& status);

/// The same on one rank of a job: refused input is the same for all ranks of a machine, so its first one alone prints
/// it. Rank 0 alone speaks JSON.
ExitCode fail_on_rank(const char* what, const Status& status, Rank rank, Rank local_rank);

/// Prints "casync WHAT: MESSAGE" to stderr and returns kExitUsage.
ExitCode fail_usage(const char* what, const std::string& message);

/// Prints an error's JSON object where that is wanted: `text` has been said on stderr. `kind`: a Status's, or "Usage".
/// A place in a file that the text begins with, as FILE:LINE:COLUMN, becomes fields.
void print_error_json(const char* kind, ExitCode code, const std::string& text);

}  // namespace casync::tools
