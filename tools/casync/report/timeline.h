// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "base/status.h"
#include "tools/casync/trace/step_range.h"
#include "tools/casync/trace/trace_folder.h"

namespace casync::tools {

/// The steps from the middle of the job whose events a page can hold; unset: all of them.
std::optional<StepRange> choose_steps(const TraceFolder& folder, std::size_t most_events);

/// The events of these steps as columns, which is the smallest text for many events; starts are on the clock of
/// all ranks, in microseconds since the first one shown. Beside them the flows over the ranks' links (flow.h).
nlohmann::ordered_json timeline_columns(const TraceFolder& folder, const std::optional<StepRange>& range);

}  // namespace casync::tools
