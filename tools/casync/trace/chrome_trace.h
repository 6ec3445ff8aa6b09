// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "tools/casync/trace/step_range.h"
#include "tools/casync/trace/trace_folder.h"

namespace casync::tools {

/// Writes the events of all ranks, on one clock, as one Chrome trace: one process per rank. Opens in Perfetto.
/// The file is replaced at once. Errors as write_output.
Status write_chrome_trace(const TraceFolder& folder, const std::optional<StepRange>& range, const std::string& path);

}  // namespace casync::tools
