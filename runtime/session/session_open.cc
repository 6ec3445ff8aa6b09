// SPDX-License-Identifier: Apache-2.0
//
// Opening a session: finds this process's place in its job and the other ranks, and checks that all want the same.
#include <sched.h>

#include <algorithm>

#include "base/codec_file.h"
#include "base/env.h"
#include "base/log.h"
#include "casync/planner/plan_file.h"
#include "casync/strategies/strategy.h"
#include "compll/codec/rounds_codec.h"
#include "runtime/control/descriptors.h"
#include "runtime/control/join_job.h"
#include "runtime/session/agreement.h"
#include "runtime/session/asynchronous_run.h"
#include "runtime/session/delayed_session.h"
#include "runtime/session/grouped_session.h"
#include "runtime/session/hop_codecs.h"
#include "runtime/session/inner_runs.h"
#include "runtime/session/session_device.h"
#include "runtime/session/session_impl.h"
#include "runtime/session/session_nccl.h"

namespace casync::runtime {
namespace {

constexpr const char* kWireVersion = "1";
constexpr int kTransportBeside = 40;  // descriptors of UCX that do not depend on the number of peers
constexpr int kSparsePeers = 160;     // of a rank in a ring, a tree or between nodes of up to 128

int usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof(set), &set) == 0 ? std::max(1, CPU_COUNT(&set)) : 1;
}

/// The number of threads besides the progress thread: the rest of this rank's own cores, at most 4, because memory
/// bandwidth is the limit then. With one core per rank the progress thread computes too.
Result<int> stream_count(int local_ranks) {
  const Result<std::optional<double>> wanted = env_number("CASYNC_THREADS");
  if (!wanted) return wanted.status();
  if (wanted->has_value()) return static_cast<int>(**wanted);
  return std::clamp(usable_cores() / std::max(1, local_ranks) - 1, 0, 4);
}

Result<Plan> plan_of(const SessionOptions& options) {
  if (!options.plan_file.empty() && options.codec) {
    return invalid_argument("both a plan (" + options.plan_file + ") and a codec (" + text_of(*options.codec) +
                            "): a plan names codecs itself; leave one out");
  }
  if (!options.plan_file.empty()) return read_plan_file(options.plan_file);
  Plan plan;
  plan.defaults.codec = options.codec;
  return plan;
}

/// The first step in which everything is compressed that the plan wants so.
std::uint32_t warm_up_of(const Plan& plan) {
  std::uint32_t steps = std::max(plan.mode.from_step, plan.defaults.warm_up_steps.value_or(0));
  for (const Rule& rule : plan.rules) steps = std::max(steps, rule.choice.warm_up_steps.value_or(0));
  for (const Entry& entry : plan.gradients) steps = std::max(steps, entry.choice.warm_up_steps.value_or(0));
  for (const GradientGroup& group : plan.groups) steps = std::max(steps, group.choice.warm_up_steps.value_or(0));
  return steps;
}

Status check_codec(const CodecChoice& choice) {
  if (!compll::has_rounds(choice.name)) return traits_of(choice).status();
  return compll::make_rounds_codec(choice.name, choice.parameters).status();
}

/// A codec that does not exist or a file that does not compile is this rank's mistake: it says so before anybody waits.
/// Names in a plan are looked at when a gradient is declared: some may be meant for none.
Status check_codecs(const Plan& plan, const std::optional<CodecChoice>& codec) {
  std::vector<const Choice*> choices = {&plan.defaults};
  for (const Rule& rule : plan.rules) choices.push_back(&rule.choice);
  for (const Entry& entry : plan.gradients) choices.push_back(&entry.choice);
  for (const GradientGroup& group : plan.groups) choices.push_back(&group.choice);
  std::vector<CodecChoice> wanted;
  if (codec) wanted.push_back(*codec);
  for (const Choice* choice : choices) {
    for (const std::optional<CodecChoice>& each : {choice->codec, choice->second_hop}) {
      if (each && is_codec_file(each->name)) wanted.push_back(*each);
    }
  }
  for (const CodecChoice& each : wanted) {
    CASYNC_RETURN_IF_ERROR(check_codec(each));
  }
  return Status::ok();
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

}  // namespace

Result<std::unique_ptr<Session>> Session::open(const SessionOptions& options) { return SessionImpl::open(options); }

Result<std::unique_ptr<Session>> SessionImpl::open(const SessionOptions& options) {
  LaunchArguments arguments = options.launch;
  if (options.store.get && !arguments.rendezvous) arguments.rendezvous = "torch";  // the program's own store
  Result<Launch> launch = read_launch(arguments, foreign_env_text);
  if (!launch) return launch.status();
  Result<Plan> plan = plan_of(options);
  if (!plan) return plan.status();
  CASYNC_RETURN_IF_ERROR(check_codecs(*plan, options.codec));
  CASYNC_RETURN_IF_ERROR(check_gossip(plan->mode, launch->ranks));
  CASYNC_RETURN_IF_ERROR(check_asynchronous(plan->mode, launch->ranks));
  if (plan->mode.is_gossip() && options.op == ReduceOp::kSum) {
    return invalid_argument("gossip averages parameters, and a sum of them is none: open the session with op average");
  }
  Result<std::unique_ptr<Device>> device = open_device(options, launch->local_ranks);
  if (!device) return device.status();
  if (!(*device)->is_host()) CASYNC_RETURN_IF_ERROR(check_on_device(options, *plan));
  if (options.transport == kNccl) CASYNC_RETURN_IF_ERROR(check_over_nccl(**device, *plan));
  std::unique_ptr<SessionImpl> session(
      new SessionImpl(options, std::move(*launch), std::move(*plan), std::move(*device)));
  Result<std::unique_ptr<Group>> group = join_job(session->launch_, options.store, Seconds(options.timeout_s));
  if (!group) return group.status();
  session->group_ = std::move(*group);
  if (Status status = session->connect(); !status) {
    if (session->executor_) session->executor_->fail(status);  // it has nothing to settle
    session->group_->abort(status);
    const Status first = session->group_->failure();
    return first.is_ok() ? status : first;
  }
  const std::uint32_t staleness = session->plan_.mode.staleness;
  const Plan wanted = session->plan_;
  Device& on = *session->device_;
  std::unique_ptr<Session> opened = std::move(session);
  if (staleness > 0) {
    Result<std::unique_ptr<Session>> delayed = DelayedSession::wrap(std::move(opened), on, staleness);
    if (!delayed) return delayed;
    opened = std::move(*delayed);
  }
  if (!wanted.groups.empty()) {
    opened =
        std::make_unique<GroupedSession>(std::move(opened), on, wanted, options.timeout_s, options.record_directory);
  }
  return opened;
}

SessionImpl::SessionImpl(const SessionOptions& options, Launch launch, Plan plan, std::unique_ptr<Device> device)
    : options_(options),
      launch_(std::move(launch)),
      plan_(std::move(plan)),
      device_(std::move(device)),
      pinned_(dynamic_cast<const PinnedBound*>(device_.get())) {
  if (!options_.trace_directory.empty()) timeline_ = std::make_unique<Timeline>(kTimelineSpans);
  step_begun_ = Clock::now();
  if (launch_.rank != 0) return;
  if (!options_.record_directory.empty() && plan_.mode != SyncMode{}) {
    log().warn(
        "no model is recorded in {}, only samples of gradients: with local_sgd, gossip, staleness or asynchronous "
        "gradients are exchanged at other times than they are ready; record a run whose plan has none of these",
        options_.record_directory);
  }
  if (!options_.record_directory.empty() && plan_.groups.empty()) sampler_.emplace();
  if (sampler_ && !device_->is_host()) device_sampler_ = std::make_unique<DeviceSampler>(*device_, *sampler_);
  if (records() || plan_.predicted) moments_ = make_step_moments(*device_);
  if (plan_.predicted) watch_.emplace(*plan_.predicted, warm_up_of(plan_), std::max(1u, plan_.mode.every));
}

Facts SessionImpl::settings() const {
  Facts facts = {{"wire version", kWireVersion},
                 {"op", options_.op == ReduceOp::kAverage ? "average" : "sum"},
                 {"transport", options_.transport},
                 {"kind of device", device_->is_host() ? "cpu" : device_->name().substr(0, device_->name().find(':'))}};
  const Facts plan = facts_of(plan_);
  facts.insert(facts.end(), plan.begin(), plan.end());
  return facts;
}

Status SessionImpl::connect() {
  const Result<Pulse> pulse = read_pulse();
  if (!pulse) return pulse.status();
  dead_ = pulse->dead;
  CASYNC_RETURN_IF_ERROR(group_->agree({"settings", settings()}, deadline()));
  CASYNC_RETURN_IF_ERROR(reserve_descriptors(data_need(plan_, options_.transport, launch_.ranks)));
  CASYNC_RETURN_IF_ERROR(open_executor());
  Result<std::vector<std::string>> nodes = group_->all_gather("nodes", node_name(launch_), deadline());
  if (!nodes) return nodes.status();
  topology_ = Topology::of(*nodes);
  owners_.emplace(topology_);
  Result<std::vector<std::string>> addresses = group_->all_gather("addresses", executor_->address(), deadline());
  if (!addresses) return addresses.status();
  if (over_nccl()) CASYNC_RETURN_IF_ERROR(open_nccl());
  if (plan_.credit_bytes > 0) executor_->set_credit(plan_.credit_bytes, topology_);
  CASYNC_RETURN_IF_ERROR(
      executor_->connect(*addresses, {[this](Rank peer, const Status& status) { peer_broke(peer, status); },
                                      [this](const Status& cause) { end_here(cause); },
                                      [this](std::uint64_t comparisons) { peer_compares(comparisons); }}));
  group_->watch([this](const Status& cause) { executor_->fail(cause); });
  group_->watch_agreements([this](const Agreement& agreement) { agreed(agreement); });
  group_->watch_needs([this](const std::string& name, std::uint32_t step) {
    if (late_names_.needed(name, step)) group_->lack(name);
  });
  group_->watch_leavers([this](Rank peer, const std::string& last_words) { peer_left(peer, last_words); });
  log().info("transport {}", executor_->transport_description());
  return Status::ok();
}

Status SessionImpl::open_nccl() {
  return executor_->open_rounds(plan_.fusion_bytes, [&](Stream& stream) {
    return open_nccl_of(*group_, launch_.rank, launch_.ranks, stream, deadline());
  });
}

/// Runs on the group's thread, which must not wait: the progress thread does the work.
void SessionImpl::agreed(const Agreement& agreement) {
  executor_->call([this, agreement] {
    if (const Status status = open_gradients(agreement); !status) end_here(status);
  });
}

Status SessionImpl::open_executor() {
  TransportOptions transport_options;
  transport_options.rank = launch_.rank;
  transport_options.ranks = launch_.ranks;
  transport_options.epoch = group_->epoch();
  transport_options.interface_name = interface_for(launch_, group_->local_ranks());
  const Result<bool> checksum = env_flag("CASYNC_CHECKSUM", true);
  if (!checksum) return checksum.status();
  transport_options.checksum = *checksum;
  transport_options.dead = dead_;
  transport_options.fusion_bytes = plan_.fusion_bytes;
  Result<std::unique_ptr<Transport>> transport =
      options_.open_transport ? options_.open_transport(transport_options)
                              : make_transport(over_nccl() ? kBesideNccl : options_.transport, transport_options);
  if (!transport) return transport.status();
  const Result<int> streams = stream_count(group_->local_ranks());
  if (!streams) return streams.status();
  ExecutorOptions executor_options;
  executor_options.rank = launch_.rank;
  executor_options.ranks = launch_.ranks;
  executor_options.scale = options_.op == ReduceOp::kAverage ? 1.0f / static_cast<float>(launch_.ranks) : 1.0f;
  executor_options.fusion_bytes = plan_.fusion_bytes;
  executor_options.coordinated = plan_.coordinated;
  executor_options.seed = plan_.seed;
  executor_options.streams = *streams;
  executor_options.timeline = timeline_.get();
  executor_options.stall = std::min(executor_options.stall, Seconds(options_.timeout_s / 10));
  executor_ = std::make_unique<Executor>(executor_options, std::move(*transport), *device_);
  return Status::ok();
}

}  // namespace casync::runtime
