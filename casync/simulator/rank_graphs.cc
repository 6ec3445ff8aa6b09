// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/rank_graphs.h"

#include <utility>

#include "casync/strategies/reduce_scatter.h"

namespace casync {

Status too_many_tasks(const std::string& how_many) {
  return invalid_argument(how_many + " tasks in a step, expected at most " + std::to_string(kMostSimulatedTasks) +
                          ": simulate fewer ranks, or larger partitions");
}

Result<std::vector<TaskGraph>> rank_graphs(const Scenario& scenario, int ranks, const Decision& decision,
                                           Elements elements, std::size_t first_owner, std::uint64_t& tasks,
                                           MakesGraph graph) {
  // Asked once, and not for each rank: a codec may have to be made to tell.
  const Result<CodecFacts> facts = scenario.facts_of(decision.codec);
  if (!facts) return facts.status();
  const CodecTraits traits = graph == &reduce_scatter_graph ? scattered_traits(facts->traits) : facts->traits;
  const auto traits_of = [&](const CodecChoice&) -> Result<CodecTraits> { return traits; };
  if (graph == nullptr) graph = graph_maker_of(decision, elements, scenario.topology.ranks);
  const SharedParts shared = shared_parts(decision, scenario.topology);
  std::vector<TaskGraph> graphs;
  for (Rank rank = 0; rank < ranks; ++rank) {
    Result<TaskGraph> made =
        make_graph(decision, elements, scenario.topology, rank, first_owner, traits_of, graph, shared);
    if (!made) return made.status();
    tasks += made->tasks().size();
    if (tasks > kMostSimulatedTasks) return too_many_tasks("more");
    graphs.push_back(std::move(*made));
  }
  return graphs;
}

}  // namespace casync
