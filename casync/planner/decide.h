// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "casync/model/gradient.h"
#include "casync/model/plan.h"
#include "casync/model/topology.h"
#include "casync/patterns/partition_count.h"

namespace casync {

/// What partitions measure when a plan doesn't say: small enough that encoding one overlaps sending another,
/// large enough that a message's fixed cost does not show.
inline constexpr Bytes kDefaultPartitionBytes = 1_MiB;

/// Whether the whole of `name` matches `pattern`: * is any text (also none), ? one character.
bool matches(std::string_view pattern, std::string_view name);

/// The complete decision for one gradient: its entry, else the first rule that matches, then the defaults, then
/// codec `none`, strategy `ps`, kDefaultPartitionBytes, and the gradient's own priority. Strength is per field,
/// with two pairs that speak as one: who names a codec and no second_hop means it for both hops, and who says
/// partition_bytes overrides a weaker source's number of partitions.
Decision decide(const Plan& plan, const GradientSpec& gradient, int ranks);

/// What a user should know about a plan used with these gradients: entries and patterns that match nothing,
/// rules that earlier rules always hide, a number of ranks or nodes it was not made for. One sentence each: rules, then
/// entries, then the world, each in plan order.
std::vector<std::string> remarks(const Plan& plan, std::span<const GradientSpec> gradients, const Topology& topology);

}  // namespace casync
