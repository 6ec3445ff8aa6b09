// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "casync/graph/task_graph.h"
#include "casync/model/gradient.h"
#include "casync/model/plan.h"
#include "casync/model/topology.h"
#include "casync/strategies/exchange.h"

namespace casync {

/// The numbers that planning needs about a codec: casync knows no codec.
struct CodecTraits {
  bool exact_merge = false;      ///< merging again at each hop adds no error
  double bits_per_element = 32;  ///< on the wire, scales included
  bool coded_terms = false;      ///< a rank contributes its code, never its raw elements
  bool votes = false;            ///< and the result is made of the codes of all ranks, and is no sum
  bool has_result = false;       ///< the result is made of the sum that the codes of all ranks tell
};
/// The plans that people would write, which a found plan is compared with (planner/search/references.h).
enum class References : std::uint8_t {
  kNone,
  kPlain,  ///< everything over this strategy, nothing compressed
  kCoded,  ///< that, and everything in one codec
};

/// A row of the table of strategies: everything that the planner, the simulator and the runtime ask about one. A field
/// that is left out says the usual.
struct Strategy {
  /// The ranks whose graphs differ in nothing but the names of ranks and partitions.
  enum class Alike : std::uint8_t {
    kNever,
    kByTurn,  ///< all, each in the partitions that it owns, if all own equally much
    kAlways,  ///< all, in every partition
  };

  StrategyKind kind{};
  std::string_view name;
  TaskGraph (*graph)(const Exchange&) = nullptr;  ///< graph_maker_of() says when a gradient has another
  bool second_hop = true;                         ///< the result may travel in another codec than the contributions
  bool relays = false;  ///< ranks send on, so each has few peers; coded terms of others are among what they send
  bool levels = false;  ///< it follows the nodes: useful with several, and several ranks on one; states depend on them
  /// Mean number of encodings of a rank's elements on their way, where ranks encode sums again; null: 1.
  double (*encodings)(int ranks) = nullptr;
  Alike alike = Alike::kNever;
  References references = References::kNone;
};

/// All strategies: the one list of them.
std::span<const Strategy> strategies();
const Strategy& strategy_of(StrategyKind kind);

using CodecTraitsOf = std::function<Result<CodecTraits>(const CodecChoice&)>;
using MakesGraph = TaskGraph (*)(const Exchange&);

/// The function that makes the graphs of a gradient: its strategy's, but for one case. Two ranks exchange a partition
/// of `ps` that is not compressed as in `all_gather`, if it is the gradient's only one and too large for a bundle: both
/// have the sum after one hop instead of two, in the same bytes, and each link carries as much.
MakesGraph graph_maker_of(const Decision& decision, Elements elements, int ranks);

/// "2 servers", "1 dedicated server".
std::string text_of(const Servers& servers);

/// PlanError: more servers than ranks; dedicated ones and nobody else; a strategy that has none.
Status check_servers(const Servers& servers, StrategyKind strategy, int ranks);

/// The graph of `self` for one gradient of `elements` elements. `first_owner` spreads the owners of the
/// partitions over the ranks, or over the servers (the gradient's position); it and `topology` must be the same on all
/// ranks. PlanError: as check_servers; the strategy cannot carry the decision's codecs (`all_gather` has no second
/// hop), naming both and what to use instead.
Result<TaskGraph> make_graph(const Decision& decision, Elements elements, const Topology& topology, Rank self,
                             std::size_t first_owner, const CodecTraitsOf& traits_of);
/// The same with graphs that this function makes.
Result<TaskGraph> make_graph(const Decision& decision, Elements elements, const Topology& topology, Rank self,
                             std::size_t first_owner, const CodecTraitsOf& traits_of, MakesGraph graph);

/// The parts of an exchange that are alike on all ranks, and are found by a look at each of them.
struct SharedParts {
  std::vector<Rank> servers;  ///< that own partitions, ascending; empty: all ranks do
  std::vector<Node> nodes;    ///< of a strategy that follows them
};
/// `topology` has the nodes of all ranks, or none.
SharedParts shared_parts(const Decision& decision, const Topology& topology);
/// make_graph() for a caller that makes the graphs of many ranks. `shared` is shared_parts() of the same.
Result<TaskGraph> make_graph(const Decision& decision, Elements elements, const Topology& topology, Rank self,
                             std::size_t first_owner, const CodecTraitsOf& traits_of, MakesGraph graph,
                             const SharedParts& shared);

/// Mean number of encodings of a rank's elements on their way to the rank that merges all, at least
/// 1: a first hop loses that many times its codec's loss on independent gradients. 1 if merging is exact.
double encodings_on_the_way(StrategyKind strategy, int ranks, const CodecTraits& traits);

/// "ps", "ring", "all_gather", ...; and back (PlanError lists the names).
std::string_view name_of(StrategyKind kind);
/// All of them, for help texts and errors: "ps, ring or tree".
std::string strategy_names();
/// Returns true if the nodes make `levels` strategies different from the others: several, with several ranks on one.
bool has_levels(const Topology& topology);
Result<StrategyKind> strategy_from(std::string_view name);

}  // namespace casync
