// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/session_report.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/env.h"
#include "base/log.h"
#include "casync/model/mode_text.h"
#include "runtime/session/agreement.h"

namespace casync::runtime {
namespace {

/// The most payload bytes that one rank sends of a gradient in a step.
Bytes payload_bytes(const GradientRun& run) {
  Bytes sum = 0;
  for (const Primitive& primitive : run.graph.tasks()) {
    const Send* send = std::get_if<Send>(&primitive);
    if (send != nullptr) sum += run.codec_of(send->from).encoded_bound(run.buffers.of(send->from).slice.count);
  }
  if (run.rounds) {
    for (const std::unique_ptr<GradientRun>& exchange : run.rounds->exchanges()) sum += payload_bytes(*exchange);
  }
  if (run.owner_side()) sum += payload_bytes(*run.owner_side());
  return sum;
}

/// The mode in which steps are not alike, as plans name it; "": all exchange gradients with all ranks.
const char* uneven_mode(const SyncMode& mode) {
  if (mode.is_gossip()) return "gossip";
  if (mode.is_asynchronous()) return "asynchronous";
  return mode.is_local() ? "local_sgd" : "";
}

nlohmann::json to_json(const GradientRun& run) {
  const double steps = run.step.steps() == 0 ? 1 : static_cast<double>(run.step.steps());
  nlohmann::json members = nlohmann::json::array();  // of a group
  for (const GroupMember& member : run.spec.members) members.push_back(member.name);
  return {{"name", run.spec.name},
          {"members", members},
          {"elements", run.elements},
          {"dtype", std::string(name_of(run.spec.dtype))},
          {"codec", identity_of(run.decision.codec)},
          {"second_hop", identity_of(run.decision.second_hop)},
          {"strategy", std::string(name_of(run.decision.strategy))},
          {"servers", run.decision.servers.count},
          {"dedicated", run.decision.servers.dedicated ? 1 : 0},
          {"scattered", run.spec.scattered ? 1 : 0},
          {"partitions", run.decision.partitions},
          {"priority", run.decision.priority},
          {"payload_bytes", payload_bytes(run)},
          {"steps", run.step.steps()},
          {"mean_ms", 1e3 * run.step.total_s() / steps},
          {"exposed_ms", 1e3 * run.exposed.seconds() / steps}};
}

}  // namespace

std::string json_text(const SessionStats& stats) {
  return nlohmann::json{{"steps", stats.steps},
                        {"messages_sent", stats.messages_sent},
                        {"messages_received", stats.messages_received},
                        {"payload_bytes_sent", stats.payload_bytes_sent},
                        {"payload_bytes_received", stats.payload_bytes_received},
                        {"wire_bytes_sent", stats.wire_bytes_sent},
                        {"wire_bytes_received", stats.wire_bytes_received},
                        {"allocations", stats.allocations},
                        {"encode_s", stats.encode_s},
                        {"decode_s", stats.decode_s},
                        {"merge_s", stats.merge_s},
                        {"send_s", stats.send_s},
                        {"recv_s", stats.recv_s},
                        {"idle_s", stats.idle_s},
                        {"tasks", stats.tasks},
                        {"pinned_bytes", stats.pinned_bytes},
                        {"most_pinned_bytes", stats.most_pinned_bytes},
                        {"transport", stats.transport}}
      .dump();
}

SessionStats SessionReport::stats() const {
  const TransportStats transport = parts_.executor->transport_stats();
  const ExecutorCounters& counters = parts_.executor->counters();
  SessionStats stats;
  {
    std::lock_guard lock(tables_.mutex);
    stats.steps = tables_.step.number();
    if (steps_ > 0) stats.allocations = counters.allocations.load() - first_step_allocations_;
  }
  stats.messages_sent = transport.messages_sent;
  stats.messages_received = transport.messages_received;
  stats.payload_bytes_sent = transport.payload_bytes_sent;
  stats.payload_bytes_received = transport.payload_bytes_received;
  stats.wire_bytes_sent = transport.wire_bytes_sent;
  stats.wire_bytes_received = transport.wire_bytes_received;
  stats.encode_s = counters.seconds_of(SpanKind::kEncode);
  stats.decode_s = counters.seconds_of(SpanKind::kDecode);
  stats.merge_s = counters.seconds_of(SpanKind::kMerge);
  stats.send_s = counters.seconds_of(SpanKind::kSend);
  stats.recv_s = counters.seconds_of(SpanKind::kRecv);
  stats.idle_s = counters.idle_s.load();
  stats.tasks = counters.tasks.load();
  stats.transport = parts_.executor->transport_description();
  if (parts_.pinned != nullptr) {
    stats.pinned_bytes = parts_.pinned->pinned();
    stats.most_pinned_bytes = parts_.pinned->most_pinned();
  }
  return stats;
}

std::string SessionReport::trace_path() const {
  return parts_.options.trace_directory + "/rank" + std::to_string(parts_.launch.rank) + ".trace.json";
}

void SessionReport::remove_old_trace() const {
  if (!parts_.timeline) return;
  const std::string path = trace_path();
  if (::unlink(path.c_str()) == 0) return;
  const int error = errno;
  if (error == ENOENT || error == ENOTDIR) return;
  log().warn("{}: an earlier session's timeline cannot be removed: {}", path, std::strerror(error));
}

void SessionReport::write_trace() const {
  if (!parts_.timeline || parts_.topology.node_of.empty()) return;  // or the ranks have not met
  nlohmann::json gradients = nlohmann::json::array();
  for (const GradientRun* run : tables_.gradients.runs()) {
    if (run != nullptr) gradients.push_back(to_json(*run));
  }
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  const nlohmann::json header = {{"job", fmt::format("{:016x}", parts_.group->epoch())},
                                 {"rank", parts_.launch.rank},
                                 {"ranks", parts_.launch.ranks},
                                 {"host", host},
                                 {"node", parts_.topology.node_of[static_cast<std::size_t>(parts_.launch.rank)]},
                                 {"fusion_bytes", parts_.plan.fusion_bytes},
                                 {"credit_bytes", parts_.plan.credit_bytes},
                                 {"mode", uneven_mode(parts_.plan.mode)},
                                 {"plan_mode", text_of(parts_.plan.mode)},
                                 {"staleness", parts_.plan.mode.staleness},
                                 {"transport", parts_.executor->transport_description()},
                                 {"link", env_text("CASYNC_LINK").value_or("")},
                                 {"epoch_us", parts_.timeline->epoch_us()},
                                 {"dropped", parts_.timeline->dropped()},
                                 {"stats", nlohmann::json::parse(json_text(stats()))},
                                 {"gradients", gradients}};
  // A codec's file may have a name that is no UTF-8.
  const std::string text = header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::error_code error;
  std::filesystem::create_directories(parts_.options.trace_directory, error);
  if (Status status = parts_.timeline->write(trace_path(), parts_.launch.rank, text); !status) {
    log().warn("{}", status.text());  // a report is not worth a training run
  }
}

void SessionReport::step_ended() {
  if (parts_.timeline) record_step();
  if (steps_++ == 0) first_step_allocations_ = parts_.executor->counters().allocations.load();
}

void SessionReport::record_step() {
  const CurrentStep& step = tables_.step;
  const std::uint32_t number = step.number();
  if (step.has_submissions() && step.exchanged() == Exchanged::kGradients) {
    parts_.timeline->record(
        {SpanKind::kBackward, nullptr, {}, number, -1, 0, 0, step.first_submitted(), step.last_submitted(), 0});
  }
  const double spent = parts_.executor->processor_seconds() - parts_.executor->counters().codec_processor_s.load();
  const double spent_in_step = std::max(0.0, spent - std::exchange(spent_s_, spent));
  parts_.timeline->record({SpanKind::kStep, nullptr, {}, number, -1, 0, 0, step.begun(), Clock::now(), spent_in_step});
}

}  // namespace casync::runtime
