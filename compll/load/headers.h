// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/status.h"

namespace casync::compll {

/// The headers that compiled codecs include.
struct Headers {
  std::string folder;  ///< has `compll/ops`, `base` and `hwy`
  std::string digest;  ///< of their contents
};

/// $CASYNC_INCLUDE_DIR, else `casync/include` in one of library_folders(). Unavailable: they are in none.
Result<Headers> find_headers();

/// The same for the headers of kernels: `compll/ops/cuda`, and those that they include.
Result<Headers> find_cuda_headers();

}  // namespace casync::compll
