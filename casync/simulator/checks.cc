// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/checks.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "casync/strategies/strategy.h"

namespace casync {
namespace {

bool usable(double value) { return std::isfinite(value) && value >= 0; }

/// InvalidArgument: the field `what` has this value instead of the expected one.
Status unusable(const std::string& what, double value, const std::string& expected = "a finite number of at least 0") {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return invalid_argument(what + " " + text + ", expected " + expected);
}

Status check_curve(const Curve& curve, const std::string& what) {
  for (std::size_t i = 0; i < curve.points.size(); ++i) {
    const std::string fault = fault_of_point(curve.points, i);
    if (!fault.empty()) return invalid_argument("profile: " + what + ", point " + std::to_string(i + 1) + ": " + fault);
  }
  return Status::ok();
}

Status check_fan(const Fan& fan, const std::string& what) {
  for (std::size_t i = 0; i < fan.points.size(); ++i) {
    const std::string fault = fault_of_point(fan.points, i);
    if (!fault.empty()) return invalid_argument("profile: " + what + ", point " + std::to_string(i + 1) + ": " + fault);
  }
  return Status::ok();
}

Status check_link(const Link& link, const std::string& what) {
  const auto field = [&](const char* name) { return "profile: " + what + ": " + name; };
  if (!usable(link.latency_s)) return unusable(field("latency_seconds"), link.latency_s);
  if (!usable(link.message_s)) return unusable(field("message_seconds"), link.message_s);
  if (!usable(link.announced_bytes)) return unusable(field("announced_bytes"), link.announced_bytes);
  CASYNC_RETURN_IF_ERROR(check_fan(link.incast, what + ", incast"));
  CASYNC_RETURN_IF_ERROR(check_fan(link.outcast, what + ", outcast"));
  CASYNC_RETURN_IF_ERROR(check_curve(link.send_work, what + ", send_work"));
  CASYNC_RETURN_IF_ERROR(check_curve(link.receive_work, what + ", receive_work"));
  return check_curve(link.wire, what);
}

Status check_profile(const Profile& profile) {
  // Infinity is a machine whose codecs are free: what closed forms are compared with.
  if (!(profile.memory_bytes_per_second > 0)) {
    return unusable("profile: memory_bytes_per_second", profile.memory_bytes_per_second, "a number above 0");
  }
  if (!usable(profile.launch_s)) return unusable("profile: launch_seconds", profile.launch_s);
  if (!usable(profile.task_s)) return unusable("profile: task_seconds", profile.task_s);
  const double bundled_s = profile.bundled_task_s.value_or(0);
  if (!usable(bundled_s)) return unusable("profile: bundled_task_seconds", bundled_s);
  if (profile.processors < 0) return unusable("profile: processors", profile.processors, "a number of at least 0");
  const Contention& contention = profile.contention;
  for (const double times : {contention.training, contention.encode, contention.merge, contention.decode}) {
    if (!std::isfinite(times) || times < 1) {
      return unusable("profile: contention", times, "a finite number of at least 1");
    }
  }
  CASYNC_RETURN_IF_ERROR(check_curve(profile.upload, "upload"));
  CASYNC_RETURN_IF_ERROR(check_curve(profile.download, "download"));
  CASYNC_RETURN_IF_ERROR(check_link(profile.inside, "inside"));
  CASYNC_RETURN_IF_ERROR(check_link(profile.between, "between"));
  for (const auto& [name, curves] : profile.codecs) {
    CASYNC_RETURN_IF_ERROR(check_curve(curves.encode, "codec " + name + ", encode"));
    CASYNC_RETURN_IF_ERROR(check_curve(curves.decode, "codec " + name + ", decode"));
    CASYNC_RETURN_IF_ERROR(check_curve(curves.merge, "codec " + name + ", merge"));
    CASYNC_RETURN_IF_ERROR(check_curve(curves.merge_base, "codec " + name + ", merge_base"));
  }
  return Status::ok();
}

Status check_slow_ranks(const Training& training, int ranks) {
  for (const SlowRank& slow : training.slow) {
    if (slow.rank < 0 || slow.rank >= ranks) {
      return invalid_argument("model: slow rank " + std::to_string(slow.rank) + ", and there are " +
                              std::to_string(ranks) + " ranks");
    }
    if (!(slow.factor > 0) || !std::isfinite(slow.factor)) {
      return unusable("model: slow rank " + std::to_string(slow.rank) + ": factor", slow.factor,
                      "a finite number above 0");
    }
  }
  if (!usable(training.jitter)) return unusable("model: jitter", training.jitter);
  return Status::ok();
}

Status check_training(const Training& training) {
  if (!usable(training.backward_s)) return unusable("model: backward_seconds", training.backward_s);
  if (!usable(training.forward_s)) return unusable("model: forward_seconds", training.forward_s);
  for (const TrainedGradient& gradient : training.gradients) {
    const auto within = [](double at, double end) { return usable(at) && at <= end; };
    const auto field = [&](const char* name) { return "model: gradient " + gradient.spec.name + ": " + name; };
    if (!within(gradient.ready_s, training.backward_s)) {
      return unusable(field("ready_seconds"), gradient.ready_s, "0 to backward_seconds");
    }
    if (!within(gradient.need_s, training.forward_s)) {
      return unusable(field("need_seconds"), gradient.need_s, "0 to forward_seconds");
    }
  }
  return Status::ok();
}

Status check_mode(const SyncMode& mode) {
  if (mode.is_gossip() && mode.every < 1) return invalid_argument("gossip every 0 steps, expected at least 1");
  if (mode.is_asynchronous() && mode.asynchronous->first < 1) {
    return invalid_argument("asynchronous with first: 0, expected at least 1");
  }
  return Status::ok();
}

/// PlanError: a gradient is scattered, and the mode exchanges more than that.
Status check_scattered(const Scenario& scenario) {
  if (scenario.mode == SyncMode{}) return Status::ok();
  for (const TrainedGradient& gradient : scenario.training.gradients) {
    if (!gradient.spec.scattered) continue;
    return plan_error(
        "gradient " + gradient.spec.name +
        " is scattered, and in the plan's mode ranks need all of the result: local_sgd, gossip, staleness "
        "and asynchronous are for other gradients");
  }
  return Status::ok();
}

}  // namespace

Status check_scenario(const Scenario& scenario, const SimulationOptions& options) {
  const Topology& topology = scenario.topology;
  const auto ranks = static_cast<std::size_t>(std::max(topology.ranks, 0));
  if (topology.ranks < 1) return unusable("ranks", topology.ranks, "at least 1");
  if (!topology.node_of.empty() && topology.node_of.size() != ranks) {
    return invalid_argument("nodes of " + std::to_string(topology.node_of.size()) + " ranks, and there are " +
                            std::to_string(ranks));
  }
  int nodes = 0;
  for (const int node : topology.node_of) {
    if (node < 0 || node > nodes) {
      return invalid_argument("a node numbered " + std::to_string(node) + ", expected 0 to " + std::to_string(nodes) +
                              ": nodes have their numbers in the order of their first ranks");
    }
    nodes = std::max(nodes, node + 1);
  }
  if (scenario.decisions.size() != scenario.training.gradients.size()) {
    return invalid_argument(std::to_string(scenario.decisions.size()) + " decisions for " +
                            std::to_string(scenario.training.gradients.size()) + " gradients, expected one for each");
  }
  for (std::size_t g = 0; g < scenario.decisions.size(); ++g) {
    const Decision& decision = scenario.decisions[g];
    const Status status = check_servers(decision.servers, decision.strategy, topology.ranks);
    if (status.is_ok()) continue;
    return Status(status.code(), "gradient " + scenario.training.gradients[g].spec.name + ": " + status.message());
  }
  CASYNC_RETURN_IF_ERROR(check_mode(scenario.mode));
  CASYNC_RETURN_IF_ERROR(check_scattered(scenario));
  if (options.steps < 1) return unusable("steps", options.steps, "at least 1");
  if (!usable(options.jitter)) return unusable("jitter", options.jitter);
  if (!options.slowness.empty() && options.slowness.size() != ranks) {
    return invalid_argument("a slowness of " + std::to_string(options.slowness.size()) + " ranks, and there are " +
                            std::to_string(ranks));
  }
  for (const double slowness : options.slowness) {
    if (!usable(slowness)) return unusable("slowness", slowness);
  }
  CASYNC_RETURN_IF_ERROR(check_profile(scenario.profile));
  CASYNC_RETURN_IF_ERROR(check_slow_ranks(scenario.training, topology.ranks));
  return check_training(scenario.training);
}

}  // namespace casync
