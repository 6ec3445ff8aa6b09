// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/casync/measurement/on_the_way.h"
#include "tools/casync/trace/step_range.h"
#include "tools/casync/trace/trace_folder.h"

namespace casync::tools {

/// Both ends of all messages of the steps in `range` (unset: of all), as the ranks saw them. Seconds count from the
/// job's earliest event.
std::vector<MessageSpan> messages_of(const TraceFolder& folder, const std::optional<StepRange>& range = {});

/// The host of each rank; "" of one without a trace.
std::vector<std::string> hosts_of(const TraceFolder& folder);

/// The node of each rank, as a name: its number, or its host in traces that do not say it; "" of one without a trace.
std::vector<std::string> nodes_of(const TraceFolder& folder);

}  // namespace casync::tools
