// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "tools/casync/trace/trace_event.h"

namespace casync::tools {

/// Steps first .. last, both ends included.
struct StepRange {
  std::int32_t first = 0, last = 0;
};

/// Reads "10..20" or "10". InvalidArgument: anything else.
Result<StepRange> parse_step_range(const std::string& text);

/// Returns true if an event is shown: it is of a step in `range`. Without a range all are shown.
inline bool shows(const std::optional<StepRange>& range, const TraceEvent& event) {
  return !range || (event.step >= range->first && event.step <= range->last);
}

}  // namespace casync::tools
