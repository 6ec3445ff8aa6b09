// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "casync/model/plan.h"

namespace casync {

/// A codec that a plan names.
struct PlannedCodec {
  std::string where;  ///< "default", "rule `*.bias`", "gradient `embed.weight`", "group `small`"
  CodecChoice choice;
};

/// All codecs that a plan names, those of `allow` and of the way back too, in its order.
std::vector<PlannedCodec> codecs_in(const Plan& plan);

}  // namespace casync
