// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "base/status.h"
#include "casync/simulator/profile.h"

namespace casync {

/// Reads a profile through libcasync_planio, as read_plan_file does. PlanError as parse_profile; InvalidArgument: no
/// such file, or over 16 MiB; Unavailable: the module is missing.
Result<Profile> read_profile_file(const std::string& path);

/// The profile as text that reads back to the same, through the same module. Unavailable: it is missing.
Result<std::string> text_of_profile(const Profile& profile);

}  // namespace casync
