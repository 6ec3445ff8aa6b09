// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "tools/casync/trace/trace_file.h"

namespace casync::tools {

/// One step of one rank, in milliseconds. step_ms = compute + exposed_ms, where compute is everything that the
/// program did while it was not waiting for the session.
struct StepSplit {
  std::int32_t step = 0;
  double step_ms = 0;                 ///< from the end of the previous step to the end of this one
  double exposed_ms = 0;              ///< the program waited for the session
  double hidden_ms = 0;               ///< at least one task ran while the program did not wait
  std::optional<double> backward_ms;  ///< from its first gradient to its last; unset: not known
};

/// All steps of `trace` that have a step span, by number. The first step of a job is among them.
std::vector<StepSplit> step_split(const RankTrace& trace);

/// Returns true if the trace has spans of the program's waits: traces of older versions have none.
bool has_waits(const RankTrace& trace);

}  // namespace casync::tools
