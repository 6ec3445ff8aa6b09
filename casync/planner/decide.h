// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "casync/model/gradient.h"
#include "casync/model/plan.h"

namespace casync {

/// Whether the whole of `name` matches `pattern`: * is any text (also none), ? one character.
bool matches(std::string_view pattern, std::string_view name);

/// How many partitions a gradient of `bytes` gets: about partition_bytes each, a multiple of `ranks` once each
/// rank can own a worthwhile one, so that all links carry the same.
int choose_partitions(Bytes bytes, int ranks, Bytes partition_bytes);

/// The complete decision for one gradient: its entry, else the first rule that matches, then the defaults, then
/// codec `none`, strategy `ps`. Strength is per field.
Decision decide(const Plan& plan, const GradientSpec& gradient, int ranks);

/// What a user should know about a plan used with these gradients: entries and patterns that match nothing,
/// rules that an earlier rule always hides, a world it was not made for. One sentence each, in plan order.
std::vector<std::string> remarks(const Plan& plan, std::span<const GradientSpec> gradients, int ranks);

}  // namespace casync
