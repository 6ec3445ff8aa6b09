// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "casync/planner/search/request.h"

namespace casync {

/// Whether the profile has the costs of a codec; of `none` there are none.
bool is_measured(const Profile& profile, const CodecChoice& codec);

/// Whether it has those of any.
bool measures_codecs(const Profile& profile);

/// Codecs of a step whose costs the profile does not have, as texts, each once.
std::vector<std::string> assumed_codecs(const Profile& profile, const PlannedStep& step);

}  // namespace casync
