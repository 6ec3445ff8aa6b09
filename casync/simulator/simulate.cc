// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/simulate.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "casync/simulator/engine.h"
#include "casync/simulator/flat_tasks.h"

namespace casync {
namespace {

bool usable(double value) { return std::isfinite(value) && value >= 0; }

Status check_curve(const Curve& curve, const std::string& what) {
  for (std::size_t i = 0; i < curve.points.size(); ++i) {
    const std::string fault = fault_of_point(curve.points, i);
    if (!fault.empty()) return invalid_argument("profile: " + what + ", point " + std::to_string(i + 1) + ": " + fault);
  }
  return Status::ok();
}

Status check_link(const Link& link, const std::string& what) {
  if (!usable(link.latency_s))
    return invalid_argument("profile: " + what + ": a latency that is negative or not finite");
  if (!usable(link.message_s)) {
    return invalid_argument("profile: " + what + ": a cost of messages that is negative or not finite");
  }
  return check_curve(link.wire, what);
}

Status check_profile(const Profile& profile) {
  // Infinity is a machine whose codecs are free: what closed forms are compared with.
  if (!(profile.memory_bytes_per_second > 0)) return invalid_argument("profile: no memory bandwidth");
  if (!usable(profile.launch_s)) return invalid_argument("profile: a launch that is negative or not finite");
  if (!std::isfinite(profile.contention) || profile.contention < 1) {
    return invalid_argument("profile: a contention below 1, or not finite");
  }
  CASYNC_RETURN_IF_ERROR(check_link(profile.inside, "inside"));
  CASYNC_RETURN_IF_ERROR(check_link(profile.between, "between"));
  for (const auto& [name, curves] : profile.codecs) {
    CASYNC_RETURN_IF_ERROR(check_curve(curves.encode, "codec " + name + ", encode"));
    CASYNC_RETURN_IF_ERROR(check_curve(curves.decode, "codec " + name + ", decode"));
    CASYNC_RETURN_IF_ERROR(check_curve(curves.merge, "codec " + name + ", merge"));
  }
  return Status::ok();
}

Status check_training(const Training& training) {
  if (!usable(training.backward_s) || !usable(training.forward_s)) {
    return invalid_argument("model: a backward or forward pass of seconds that are negative or not finite");
  }
  for (const TrainedGradient& gradient : training.gradients) {
    const auto within = [&](double at, double end) { return usable(at) && at <= end; };
    if (!within(gradient.ready_s, training.backward_s) || !within(gradient.need_s, training.forward_s)) {
      return invalid_argument("model: gradient " + gradient.spec.name + ": ready or needed outside of its pass");
    }
  }
  return Status::ok();
}

Status check(const Scenario& scenario, const SimulationOptions& options) {
  const Topology& topology = scenario.topology;
  const auto ranks = static_cast<std::size_t>(std::max(topology.ranks, 0));
  if (topology.ranks < 1) return invalid_argument("a group of " + std::to_string(topology.ranks) + " ranks");
  if (!topology.node_of.empty() && topology.node_of.size() != ranks) {
    return invalid_argument("nodes of " + std::to_string(topology.node_of.size()) + " ranks, and there are " +
                            std::to_string(ranks));
  }
  for (const int node : topology.node_of) {
    if (node < 0 || node >= topology.ranks) return invalid_argument("a node numbered " + std::to_string(node));
  }
  if (scenario.decisions.size() != scenario.training.gradients.size()) {
    return invalid_argument(std::to_string(scenario.decisions.size()) + " decisions for " +
                            std::to_string(scenario.training.gradients.size()) + " gradients");
  }
  if (options.steps < 1) return invalid_argument(std::to_string(options.steps) + " steps");
  if (!usable(options.jitter)) return invalid_argument("a jitter that is negative or not finite");
  if (!options.slowness.empty() && options.slowness.size() != ranks) {
    return invalid_argument("a slowness of " + std::to_string(options.slowness.size()) + " ranks, and there are " +
                            std::to_string(ranks));
  }
  for (const double slowness : options.slowness) {
    if (!usable(slowness)) return invalid_argument("a slowness that is negative or not finite");
  }
  CASYNC_RETURN_IF_ERROR(check_profile(scenario.profile));
  return check_training(scenario.training);
}

Status too_many(const std::string& how_many) {
  return invalid_argument(how_many + " tasks in a step, expected at most " + std::to_string(kMostSimulatedTasks) +
                          ": simulate fewer ranks, or larger partitions");
}

/// Before anything is built: a partition has at least two tasks on each rank, in every strategy.
Status check_size(const Scenario& scenario) {
  double tasks = 0;
  for (std::size_t g = 0; g < scenario.decisions.size(); ++g) {
    const auto partitions = static_cast<double>(std::max(scenario.decisions[g].partitions, 0));
    const auto elements = static_cast<double>(scenario.training.gradients[g].spec.elements());
    tasks += scenario.topology.ranks * std::max(1.0, 2 * std::min(partitions, elements));
  }
  if (tasks <= static_cast<double>(kMostSimulatedTasks)) return Status::ok();
  return too_many("at least " + std::to_string(static_cast<std::uint64_t>(std::min(tasks, 1e18))));
}

/// As the session counts: by name.
std::vector<std::size_t> positions(const Training& training) {
  std::vector<std::size_t> by_name(training.gradients.size()), position(training.gradients.size());
  std::iota(by_name.begin(), by_name.end(), std::size_t{0});
  std::stable_sort(by_name.begin(), by_name.end(), [&](std::size_t a, std::size_t b) {
    return training.gradients[a].spec.name < training.gradients[b].spec.name;
  });
  for (std::size_t i = 0; i < by_name.size(); ++i) position[by_name[i]] = i;
  return position;
}

Status add_gradient(const Scenario& scenario, std::size_t at, std::size_t position, FlatTasks& flat) {
  const Decision& decision = scenario.decisions[at];
  const GradientSpec& spec = scenario.training.gradients[at].spec;
  const auto named = [&](const Status& status) {
    return Status(status.code(), "gradient " + spec.name + ": " + status.message());
  };
  Result<CodecFacts> first = scenario.facts_of(decision.codec);
  if (!first) return named(first.status());
  Result<CodecFacts> second = scenario.facts_of(decision.second_hop);
  if (!second) return named(second.status());
  const auto traits_of = [&](const CodecChoice& choice) -> Result<CodecTraits> {
    const Result<CodecFacts> facts = scenario.facts_of(choice);
    if (!facts) return facts.status();
    return facts->traits;
  };
  std::vector<TaskGraph> graphs;
  std::uint64_t tasks = flat.tasks().size();
  for (Rank rank = 0; rank < scenario.topology.ranks; ++rank) {
    Result<TaskGraph> graph = make_graph(decision, spec.elements(), scenario.topology, rank, position, traits_of);
    if (!graph) return named(graph.status());
    tasks += graph->tasks().size();
    if (tasks > kMostSimulatedTasks) return too_many("more");
    graphs.push_back(std::move(*graph));
  }
  // Elements as they are, and sums, are only ever moved. A merge reads what is not encoded as float32, too.
  const CodecFacts raw{"", {.bits_per_element = 8.0 * static_cast<double>(bytes_of(spec.dtype))}, true, 0};
  const CodecFacts sum{"", {}, true, 0};
  const HopCosts costs{CodecCosts(std::move(*first), scenario.profile),
                       CodecCosts(std::move(*second), scenario.profile), CodecCosts(raw, scenario.profile),
                       CodecCosts(sum, scenario.profile)};
  const Status added =
      flat.add(graphs, static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(scenario.decisions.size()), costs);
  return added.is_ok() ? added : named(added);
}

}  // namespace

Result<Simulation> simulate(const Scenario& scenario, const SimulationOptions& options) {
  CASYNC_RETURN_IF_ERROR(check(scenario, options));
  CASYNC_RETURN_IF_ERROR(check_size(scenario));
  const std::vector<std::size_t> position = positions(scenario.training);
  FlatTasks flat;
  for (std::size_t g = 0; g < scenario.decisions.size(); ++g) {
    CASYNC_RETURN_IF_ERROR(add_gradient(scenario, g, position[g], flat));
  }
  return Engine(scenario, options, flat).run();
}

}  // namespace casync
