// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/meet_ranks.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "base/env.h"
#include "base/processors.h"
#include "casync/strategies/strategy.h"
#include "runtime/control/group/descriptors.h"
#include "runtime/control/join_job.h"
#include "runtime/session/agreement.h"
#include "runtime/session/session_nccl.h"
#include "runtime/transport/transport.h"

namespace casync::runtime {
namespace {

constexpr const char* kWireVersion = "1";
constexpr int kTransportBeside = 40;  // descriptors of UCX that do not depend on the number of peers
constexpr int kSparsePeers = 160;     // of a rank in a ring, a tree or between nodes of up to 128

/// The node of each rank, and the ranks that compete for the processors of this one.
struct Places {
  std::vector<std::string> nodes;
  int ranks_here = 0;  ///< that may run on the same processors of this machine, this rank included
  std::size_t processors = 1;
};

/// Collective. Errors as Group::all_gather.
Result<Places> gather_places(const SessionParts& parts) {
  const std::string processors = processors_name(parts.launch);
  const Result<std::vector<std::string>> all =
      parts.group->all_gather("places", node_name(parts.launch) + '\n' + processors, parts.deadline());
  if (!all) return all.status();
  Places places;
  for (const std::string& place : *all) {
    const std::size_t end = place.rfind('\n');
    places.nodes.push_back(place.substr(0, end));
    if (place.substr(end + 1) == processors) ++places.ranks_here;
  }
  places.processors = std::max<std::size_t>(1, usable_processors().size());
  return places;
}

/// The number of threads besides the progress thread: the rest of this rank's own cores, at most 4, because memory
/// bandwidth is the limit then. With one core per rank the progress thread computes too.
Result<int> stream_count(const Places& places) {
  const Result<std::optional<double>> wanted = env_number("CASYNC_THREADS");
  if (!wanted) return wanted.status();
  if (wanted->has_value()) return static_cast<int>(**wanted);
  return std::clamp(static_cast<int>(places.processors) / places.ranks_here - 1, 0, 4);
}

/// The most peers that this rank may connect to: with a strategy that the plan leaves open, all.
int most_peers(const Plan& plan, int ranks) {
  const auto is_sparse = [](const std::optional<StrategyKind>& kind) { return kind && strategy_of(*kind).relays; };
  bool sparse = is_sparse(plan.defaults.strategy);
  const auto look_at = [&](const Choice& choice) {
    sparse = sparse && (!choice.strategy || is_sparse(choice.strategy));
  };
  for (const Rule& rule : plan.rules) look_at(rule.choice);
  for (const Entry& entry : plan.gradients) look_at(entry.choice);
  for (const GradientGroup& group : plan.groups) look_at(group.choice);
  return sparse ? std::min(ranks - 1, kSparsePeers) : ranks - 1;
}

/// Descriptors of the transport. UCX ends the process where it runs out of them while it opens.
DescriptorNeed data_need(const Plan& plan, const std::string& transport, int ranks) {
  if (!transport.starts_with("ucx") || ranks == 1) return {};
  const int peers = most_peers(plan, ranks);
  return {kTransportBeside + peers, kTransportBeside + 2 * peers, std::to_string(peers) + " data connections"};
}

/// All ranks are told the same, once their settings are.
Status check_transport(const SessionParts& parts) {
  if (parts.options.open_transport || parts.group->is_one_process()) return Status::ok();
  return check_joins_processes(parts.options.transport);
}

Facts settings_of(const SessionParts& parts, const Pulse& pulse) {
  const std::string device = parts.device->name();
  Facts facts = {{"wire version", kWireVersion},
                 {"op", std::string(name_of(parts.options.op))},
                 {"transport", parts.options.transport},
                 {"kind of device", parts.device->is_host() ? "cpu" : device.substr(0, device.find(':'))}};
  for (const Facts& more : {facts_of(pulse), facts_of(parts.plan)}) facts.insert(facts.end(), more.begin(), more.end());
  return facts;
}

Result<std::unique_ptr<Transport>> open_transport(const SessionParts& parts) {
  const SessionOptions& options = parts.options;
  TransportOptions wanted;
  wanted.rank = parts.launch.rank;
  wanted.ranks = parts.launch.ranks;
  wanted.epoch = parts.group->epoch();
  wanted.interface_name = interface_for(parts.launch, parts.group->local_ranks());
  wanted.device_address = parts.device->bus_address();
  wanted.local_rank = parts.launch.local_rank;
  const Result<bool> checksum = env_flag("CASYNC_CHECKSUM", true);
  if (!checksum) return checksum.status();
  wanted.checksum = *checksum;
  wanted.dead = parts.dead;
  wanted.fusion_bytes = parts.plan.fusion_bytes;
  // Copies come seldom, and a core that polls for them is one that the program or its gradients want.
  if (options.op == ReduceOp::kCopy) wanted.spin = {};
  if (options.open_transport) return options.open_transport(wanted);
  return make_transport(parts.over_nccl() ? kBesideNccl : options.transport, wanted);
}

Status open_executor(SessionParts& parts, const Places& places) {
  Result<std::unique_ptr<Transport>> transport = open_transport(parts);
  if (!transport) return transport.status();
  const Result<int> streams = stream_count(places);
  if (!streams) return streams.status();
  const int ranks = parts.launch.ranks;
  ExecutorOptions options;
  options.rank = parts.launch.rank;
  options.ranks = ranks;
  options.scale = parts.options.op == ReduceOp::kAverage ? 1.0f / static_cast<float>(ranks) : 1.0f;
  options.fusion_bytes = parts.plan.fusion_bytes;
  options.coordinated = parts.plan.coordinated;
  options.seed = parts.plan.seed;
  options.streams = *streams;
  options.timeline = parts.timeline.get();
  options.stall = parts.stall();
  options.device_rest = std::min(options.device_rest, Seconds(parts.options.timeout_s / 2));  // callers wait that long
  parts.executor = std::make_unique<Executor>(options, std::move(*transport), *parts.device);
  return Status::ok();
}

Status open_nccl(SessionParts& parts) {
  return parts.executor->open_rounds(parts.plan.fusion_bytes, [&](Stream& stream) {
    return open_nccl_of(*parts.group, parts.launch.rank, parts.launch.ranks, stream, parts.deadline());
  });
}

}  // namespace

Result<std::vector<std::string>> meet_ranks(SessionParts& parts) {
  const Result<Pulse> pulse = read_pulse();
  if (!pulse) return pulse.status();
  parts.dead = pulse->dead;
  CASYNC_RETURN_IF_ERROR(parts.group->agree({"settings", settings_of(parts, *pulse)}, parts.deadline()));
  CASYNC_RETURN_IF_ERROR(check_transport(parts));
  CASYNC_RETURN_IF_ERROR(reserve_descriptors(data_need(parts.plan, parts.options.transport, parts.launch.ranks)));
  const Result<Places> places = gather_places(parts);
  if (!places) return places.status();
  parts.ranks_per_processor = ranks_per_processor(places->ranks_here, places->processors);
  CASYNC_RETURN_IF_ERROR(open_executor(parts, *places));
  Result<std::vector<std::string>> addresses =
      parts.group->all_gather("addresses", parts.executor->address(), parts.deadline());
  if (!addresses) return addresses.status();
  parts.topology = Topology::of(places->nodes);
  if (parts.over_nccl()) CASYNC_RETURN_IF_ERROR(open_nccl(parts));
  if (parts.plan.credit_bytes > 0) parts.executor->set_credit(parts.plan.credit_bytes, parts.topology);
  return addresses;
}

}  // namespace casync::runtime
