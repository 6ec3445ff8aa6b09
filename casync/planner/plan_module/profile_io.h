// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "casync/simulator/profile.h"

namespace casync {

/// Reads a profile in protobuf text format. `source` is the file's name for messages.
/// PlanError: each mistake as "source:line:column: what was seen, what was expected", as parse_plan: syntax, unknown
/// fields and versions, numbers that are negative or not finite, curves that fall, codecs named twice.
Result<Profile> parse_profile(std::string_view text, std::string_view source);

/// The profile as text that parse_profile reads back to the same profile.
std::string profile_text(const Profile& profile);

}  // namespace casync
