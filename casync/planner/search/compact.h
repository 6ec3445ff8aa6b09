// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "casync/model/gradient.h"
#include "casync/model/plan.h"
#include "casync/planner/decide.h"

namespace casync {

/// A plan that decides the same for these gradients on so many ranks in fewer words: a default for most of their bytes,
/// rules for the others, by patterns of their names, and an entry where no pattern fits. The fields that decide() fills
/// in anyway are left out.
Plan compacted(const Plan& plan, std::span<const GradientSpec> gradients, int ranks, const PayloadBits& bits_of);

/// For each rule of a compacted plan, and for its default at the end, how many gradients it decides and of how many
/// bytes: "12 gradients, 85 MB".
std::vector<std::string> shares_of(const Plan& plan, std::span<const GradientSpec> gradients);

}  // namespace casync
