// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/status.h"
#include "tools/casync/report/trace_folder.h"

namespace casync::tools {

/// Steps first .. last, both ends included.
struct StepRange {
  std::int32_t first = 0, last = 0;
};

/// Reads "10..20" or "10". InvalidArgument: anything else.
Result<StepRange> parse_step_range(const std::string& text);

/// The steps from the middle of the job whose events a page can hold; unset: all of them.
std::optional<StepRange> choose_steps(const TraceFolder& folder, std::size_t most_events);

/// Returns true if an event is shown: it is of a step in `range`. Without a range all are shown.
inline bool shows(const std::optional<StepRange>& range, const TraceEvent& event) {
  return !range || (event.step >= range->first && event.step <= range->last);
}

/// The events of these steps as columns, which is the smallest text for many events; starts are on the clock of
/// all ranks, in microseconds since the first one shown. Beside them the flows over the ranks' links (flow.h).
nlohmann::ordered_json timeline_columns(const TraceFolder& folder, const std::optional<StepRange>& range);

}  // namespace casync::tools
