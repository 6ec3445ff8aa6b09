// SPDX-License-Identifier: Apache-2.0
#include "tools/casync/exit_code.h"

#include <cstdio>

namespace casync::tools {

ExitCode exit_code_of(const Status& status) {
  switch (status.code()) {
    case StatusCode::kOk: return kExitOk;
    case StatusCode::kInvalidArgument:
    case StatusCode::kPlanError:
    case StatusCode::kCompileError:
    case StatusCode::kDataLoss: return kExitRefused;
    case StatusCode::kPeerFailure:
    case StatusCode::kTimeout: return kExitPeer;
    default: return kExitFailure;
  }
}

ExitCode fail(const char* what, const Status& status) {
  std::fprintf(stderr, "casync %s: %s\n", what, status.message().c_str());
  return exit_code_of(status);
}

ExitCode fail_on_rank(const char* what, const Status& status, Rank local_rank) {
  const ExitCode code = exit_code_of(status);
  return code == kExitRefused && local_rank != 0 ? code : fail(what, status);
}

}  // namespace casync::tools
