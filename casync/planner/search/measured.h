// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "casync/planner/search/request.h"

namespace casync {

/// Returns true if the profile has the costs of a codec; false for `none`, which has no costs.
bool is_measured(const Profile& profile, const CodecChoice& codec);

/// Returns true if the profile has the costs of any codec.
bool measures_codecs(const Profile& profile);

/// Codecs of a step whose costs the profile does not have, as texts, each once.
std::vector<std::string> assumed_codecs(const Profile& profile, const PlannedStep& step);

}  // namespace casync
