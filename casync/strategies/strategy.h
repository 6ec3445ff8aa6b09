// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string_view>

#include "base/status.h"
#include "casync/graph/task_graph.h"
#include "casync/model/gradient.h"
#include "casync/model/plan.h"
#include "casync/model/topology.h"

namespace casync {

/// The numbers that planning needs about a codec: casync knows no codec.
struct CodecTraits {
  bool exact_merge = false;      ///< merging again at each hop adds no error
  double bits_per_element = 32;  ///< on the wire, scales included
  bool coded_terms = false;      ///< a rank contributes its code, never its raw elements
  bool votes = false;            ///< and the result is made of the codes of all ranks, and is no sum
};
using CodecTraitsOf = std::function<Result<CodecTraits>(const CodecChoice&)>;

/// The graph of `self` for one gradient of `elements` elements. `first_owner` spreads the owners of the
/// partitions over the ranks (the gradient's position); it and `topology` must be the same on all ranks.
/// PlanError: the strategy cannot carry the decision's codecs (`all_gather` has no second hop), naming both and what to
/// use instead.
Result<TaskGraph> make_graph(const Decision& decision, Elements elements, const Topology& topology, Rank self,
                             std::size_t first_owner, const CodecTraitsOf& traits_of);

/// Mean number of encodings of a rank's elements on their way to the rank that merges all, at least
/// 1: a first hop loses that many times its codec's loss on independent gradients. 1 if merging is exact.
double encodings_on_the_way(StrategyKind strategy, int ranks, const CodecTraits& traits);

/// "ps", "ring", "all_gather", ...; and back (PlanError lists the names).
std::string_view name_of(StrategyKind kind);
Result<StrategyKind> strategy_from(std::string_view name);

}  // namespace casync
