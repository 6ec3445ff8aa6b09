// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "casync/model/gradient.h"
#include "casync/model/plan.h"
#include "casync/model/topology.h"
#include "casync/patterns/partition_count.h"

namespace casync {

/// Returns the bits of an element in a codec's payloads, by the codec's own declaration, so that all ranks and tools
/// get the same. If a payload's size depends on the gradient, the codec declares typical bits or the most. 32 of a
/// codec that is not known or exchanges within a step.
using PayloadBits = std::function<double(const CodecChoice&)>;

/// Returns true if the whole of `name` matches `pattern`: * is any text (also none), ? one character.
bool matches(std::string_view pattern, std::string_view name);

/// A plan's settings for one gradient's codec that a planner needs to know. A source that sets max_error or allow and
/// no codec leaves the codec to the planner, whatever weaker sources say.
struct CodecLimits {
  bool is_open = false;                   ///< left to the planner
  std::optional<CodecChoice> codec;       ///< fixed; neither this nor is_open: no source says anything
  std::optional<CodecChoice> second_hop;  ///< fixed for the way back
  /// The limit from the strongest source that sets one. For a fixed codec: the limit from its source or a stronger one.
  std::optional<double> max_error;
  std::vector<CodecChoice> allowed;  ///< if the codec is open: from the strongest source that sets it; empty: all
  std::string by;                    ///< the source that fixes it or leaves it open: "rule 2 `*.bias`"
};
CodecLimits codec_limits(const Plan& plan, std::string_view gradient);

/// The independently decided fields that any source sets for this gradient.
struct SaidFields {
  bool strategy = false, partitions = false, priority = false, warm_up_steps = false, servers = false,
       residual_memory = false;
};
SaidFields said_fields(const Plan& plan, std::string_view gradient);

/// PlanError: the plan leaves this gradient's codec to the planner, so that there is nothing to run yet. Names the
/// source that left it open and what to do.
Status check_decided(const Plan& plan, std::string_view gradient);

/// The complete decision for one gradient: its entry, or the fields of the group that it is, else the first rule that
/// matches, then the defaults, then codec `none`, strategy `ps`, default_partitions(), and the gradient's own
/// priority. Strength is per field, with pairs that count as one: a source that names codec and no second_hop sets both
/// hops, and without warm_up_from all steps that are compressed; one that sets partition_bytes overrides a weaker
/// source's number of partitions. Servers count if the strategy is `ps`, whichever source names it. A codec that is
/// left to the planner is `none` here: see check_decided.
Decision decide(const Plan& plan, const GradientSpec& gradient, int ranks, const PayloadBits& bits_of);

/// The number of partitions of a gradient of which no source says partitions or partition_bytes, by the decision's
/// codecs and servers: that of the payloads of both hops, in the mean, or of the one hop that a scattered gradient has.
int default_partitions(const Decision& decision, const GradientSpec& gradient, int ranks, const PayloadBits& bits_of);

/// Remarks for a user about a plan used with these gradients, of which groups have their members: entries and patterns
/// that match nothing, rules that earlier rules always hide, members of a group that are no gradients, a number of
/// ranks or nodes it was not made for. One sentence each: rules, then entries, groups and the world, each in plan
/// order.
std::vector<std::string> remarks(const Plan& plan, std::span<const GradientSpec> gradients, const Topology& topology);

}  // namespace casync
