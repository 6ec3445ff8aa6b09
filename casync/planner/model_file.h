// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/status.h"
#include "casync/simulator/training.h"

namespace casync {

/// Reads a model description through libcasync_planio, as read_plan_file does. PlanError as parse_model;
/// InvalidArgument: no such file, or over 16 MiB; Unavailable: the module is missing.
Result<Training> read_model_file(const std::string& path);

/// The description as text that reads back to the same, through the same module. Unavailable: it is missing.
Result<std::string> text_of_model(const Training& training);

}  // namespace casync
