// SPDX-License-Identifier: Apache-2.0
//
// Opening a session: checks what it is opened with, joins the job and connects to the other ranks.
#include <utility>

#include "base/codec_file.h"
#include "base/env.h"
#include "base/log.h"
#include "casync/planner/plan_file.h"
#include "compll/codec/rounds_codec.h"
#include "runtime/control/join_job.h"
#include "runtime/session/agreement.h"
#include "runtime/session/asynchronous_run.h"
#include "runtime/session/copied.h"
#include "runtime/session/delayed_session.h"
#include "runtime/session/grouped_session.h"
#include "runtime/session/hop_codecs.h"
#include "runtime/session/inner_runs.h"
#include "runtime/session/meet_ranks.h"
#include "runtime/session/session_device.h"
#include "runtime/session/session_impl.h"
#include "runtime/session/session_nccl.h"

namespace casync::runtime {
namespace {

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

Status check_codec(const CodecChoice& choice) {
  if (!compll::has_rounds(choice.name)) return traits_of(choice).status();
  return compll::make_rounds_codec(choice.name, choice.parameters).status();
}

/// A codec that does not exist or a file that does not compile is this rank's mistake: it says so while nobody waits.
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

}  // namespace

Result<std::unique_ptr<Session>> Session::open(const SessionOptions& options) { return SessionImpl::open(options); }

Result<std::unique_ptr<Session>> SessionImpl::open(const SessionOptions& options) {
  LaunchArguments arguments = options.launch;
  if (options.store.get && !arguments.rendezvous) arguments.rendezvous = "store";
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
  Result<std::unique_ptr<Device>> device = open_device(options, *launch);
  if (!device) return device.status();
  CASYNC_RETURN_IF_ERROR(check_copies(options, *plan, **device));
  if (options.transport == kNccl) CASYNC_RETURN_IF_ERROR(check_over_nccl(**device, *plan));
  std::unique_ptr<SessionImpl> session(
      new SessionImpl(options, std::move(*launch), std::move(*plan), std::move(*device)));
  session->report_.remove_old_trace();
  Result<std::unique_ptr<Group>> group =
      join_job(session->parts_.launch, options.store, Seconds(options.timeout_s), session->parts_.stall());
  if (!group) return group.status();
  session->parts_.group = std::move(*group);
  if (Status status = session->connect(); !status) {
    if (session->parts_.executor) session->parts_.executor->failures().fail(status);  // it has nothing to settle
    session->parts_.group->abort(status);
    const Status first = session->parts_.group->failure();
    return first.is_ok() ? status : first;
  }
  const std::uint32_t staleness = session->parts_.plan.mode.staleness;
  const Plan wanted = session->parts_.plan;
  const std::shared_ptr<RankPaces> paces = session->parts_.paces;
  const RecordedRanks ranks{session->parts_.launch.ranks, session->parts_.ranks_per_processor};
  Device& on = *session->parts_.device;
  std::unique_ptr<Session> opened = std::move(session);
  if (staleness > 0) {
    Result<std::unique_ptr<Session>> delayed =
        DelayedSession::wrap(std::move(opened), on, staleness, options.timeout_s);
    if (!delayed) return delayed;
    opened = std::move(*delayed);
  }
  if (!wanted.groups.empty()) {
    opened = std::make_unique<GroupedSession>(std::move(opened), on, wanted, options.timeout_s,
                                              options.record_directory, ranks, paces);
  }
  return opened;
}

SessionImpl::SessionImpl(const SessionOptions& options, Launch launch, Plan plan, std::unique_ptr<Device> device)
    : parts_(options, std::move(launch), std::move(plan), std::move(device)) {}

Status SessionImpl::connect() {
  const Result<std::vector<std::string>> addresses = meet_ranks(parts_);
  if (!addresses) return addresses.status();
  ExecutorEvents events;
  events.peer_broke = [this](Rank peer, const Status& status) { job_end_.peer_broke(peer, status); };
  events.failed = [this](const Status& cause) { job_end_.end_here(cause); };
  events.peer_compares = [this](std::uint64_t comparisons) { comparisons_.peer_compares(comparisons); };
  events.stalled = [this] { openings_.ask_who_is_late(); };
  CASYNC_RETURN_IF_ERROR(parts_.executor->connect(*addresses, std::move(events)));
  Group& group = *parts_.group;
  group.watch([this](const Status& cause) { parts_.executor->failures().fail(cause); });
  group.watch_agreements([this](const Agreement& agreement) { openings_.agreed(agreement); });
  group.watch_needs([this](const std::string& name, std::uint32_t step) { openings_.needed(name, step); });
  group.watch_leavers([this](Rank peer, const LastWords& words) {
    parts_.paces->left(peer, words.to_hub);
    job_end_.peer_left(peer, words.to_all);
  });
  record_.open();
  log().info("transport {}", parts_.executor->transport_description());
  return Status::ok();
}

}  // namespace casync::runtime
