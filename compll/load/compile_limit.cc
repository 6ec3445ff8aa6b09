// SPDX-License-Identifier: Apache-2.0
#include "compll/load/compile_limit.h"

#include <optional>

#include "base/env.h"

namespace casync::compll {

Result<double> compile_seconds() {
  constexpr double kSeconds = 120;
  const Result<std::optional<double>> seconds = env_number("CASYNC_COMPILE_SEC");
  if (!seconds) return seconds.status();
  return seconds->value_or(kSeconds);
}

}  // namespace casync::compll
