// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "tools/casync/trace/trace_folder.h"

namespace casync::tools {

/// The job in numbers, merged over its ranks: what `casync report --json` prints and the page shows. The fields
/// are described in docs/report.md.
nlohmann::ordered_json report_numbers(const TraceFolder& folder);

}  // namespace casync::tools
