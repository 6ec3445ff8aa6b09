// SPDX-License-Identifier: Apache-2.0
//
// Reports of a session: counters, the timeline's file, and its records.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/env.h"
#include "base/log.h"
#include "runtime/session/agreement.h"
#include "runtime/session/record_files.h"
#include "runtime/session/session_impl.h"

namespace casync::runtime {
namespace {

double seconds_of(const ExecutorCounters& counters, SpanKind kind) {
  return counters.seconds[static_cast<int>(kind)].load();
}

/// The most payload bytes that one rank sends of a gradient in a step.
Bytes payload_bytes(const GradientRun& run) {
  Bytes sum = 0;
  for (const Primitive& primitive : run.graph.tasks()) {
    const Send* send = std::get_if<Send>(&primitive);
    if (send != nullptr) sum += run.codec_of(send->from).encoded_bound(run.slice_of(send->from).count);
  }
  if (run.rounds) {
    for (const std::unique_ptr<GradientRun>& exchange : run.rounds->exchanges) sum += payload_bytes(*exchange);
  }
  if (run.owner_side) sum += payload_bytes(*run.owner_side);
  return sum;
}

nlohmann::json to_json(const GradientRun& run) {
  const double steps = run.steps == 0 ? 1 : static_cast<double>(run.steps);
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
          {"partitions", run.decision.partitions},
          {"priority", run.decision.priority},
          {"payload_bytes", payload_bytes(run)},
          {"steps", run.steps},
          {"mean_ms", 1e3 * run.total_s / steps},
          {"exposed_ms", 1e3 * run.exposed_s.load() / steps}};
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

SessionStats SessionImpl::stats() const {
  if (forked()) return {};
  const TransportStats transport = parts_.executor->transport_stats();
  const ExecutorCounters& counters = parts_.executor->counters();
  SessionStats stats;
  {
    std::lock_guard lock(mutex_);
    stats.steps = step_;
    if (steps_here_ > 0) stats.allocations = counters.allocations.load() - first_step_allocations_;
  }
  stats.messages_sent = transport.messages_sent;
  stats.messages_received = transport.messages_received;
  stats.payload_bytes_sent = transport.payload_bytes_sent;
  stats.payload_bytes_received = transport.payload_bytes_received;
  stats.wire_bytes_sent = transport.wire_bytes_sent;
  stats.wire_bytes_received = transport.wire_bytes_received;
  stats.encode_s = seconds_of(counters, SpanKind::kEncode);
  stats.decode_s = seconds_of(counters, SpanKind::kDecode);
  stats.merge_s = seconds_of(counters, SpanKind::kMerge);
  stats.send_s = seconds_of(counters, SpanKind::kSend);
  stats.recv_s = seconds_of(counters, SpanKind::kRecv);
  stats.idle_s = counters.idle_s.load();
  stats.tasks = counters.tasks.load();
  stats.transport = parts_.executor->transport_description();
  if (parts_.pinned != nullptr) {
    stats.pinned_bytes = parts_.pinned->pinned();
    stats.most_pinned_bytes = parts_.pinned->most_pinned();
  }
  return stats;
}

void SessionImpl::write_trace() const {
  nlohmann::json gradients = nlohmann::json::array();
  for (const GradientRun* run : runs_) {
    if (run != nullptr) gradients.push_back(to_json(*run));
  }
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  const nlohmann::json header = {{"rank", parts_.launch.rank},
                                 {"ranks", parts_.launch.ranks},
                                 {"host", host},
                                 {"node", parts_.topology.node_of[static_cast<std::size_t>(parts_.launch.rank)]},
                                 {"fusion_bytes", parts_.plan.fusion_bytes},
                                 {"credit_bytes", parts_.plan.credit_bytes},
                                 {"transport", parts_.executor->transport_description()},
                                 {"link", env_text("CASYNC_LINK").value_or("")},
                                 {"epoch_us", parts_.timeline->epoch_us()},
                                 {"dropped", parts_.timeline->dropped()},
                                 {"stats", nlohmann::json::parse(json_text(stats()))},
                                 {"gradients", gradients}};
  std::error_code error;
  std::filesystem::create_directories(parts_.options.trace_directory, error);
  const std::string path =
      parts_.options.trace_directory + "/rank" + std::to_string(parts_.launch.rank) + ".trace.json";
  if (Status status = parts_.timeline->write(path, parts_.launch.rank, header.dump()); !status) {
    log().warn("{}", status.text());  // a report is not worth a training run
  }
}

/// Under mutex_.
void SessionImpl::record_step() {
  if (first_submitted_ != Clock::time_point{} && exchanged_now() == Exchanged::kGradients) {
    parts_.timeline->record({SpanKind::kBackward, nullptr, {}, step_, -1, 0, 0, first_submitted_, last_submitted_, 0});
  }
  const double spent = parts_.executor->processor_seconds() - parts_.executor->counters().codec_processor_s.load();
  const double spent_in_step = std::max(0.0, spent - std::exchange(spent_s_, spent));
  parts_.timeline->record({SpanKind::kStep, nullptr, {}, step_, -1, 0, 0, step_begun_, Clock::now(), spent_in_step});
}

/// Notes where in the program's streams the gradients are written: an event for those of one stream that are submitted
/// next to each other, the last one's.
Status SessionImpl::note_ready(std::span<const Submission> submissions) {
  const Submission* behind = nullptr;
  for (std::size_t i = submissions.size(); i-- > 0;) {
    const Submission& one = submissions[i];
    Event& own = *ready_[static_cast<std::size_t>(one.gradient)].event;
    const bool shares = behind != nullptr && behind->stream == one.stream;
    if (!shares) CASYNC_RETURN_IF_ERROR(parts_.device->record(own, one.stream));
    ready_[static_cast<std::size_t>(one.gradient)].noted =
        shares ? ready_[static_cast<std::size_t>(behind->gradient)].noted : &own;
    behind = &one;
  }
  return samples() ? sample_on_device(submissions) : Status::ok();
}

/// Begins to copy samples of gradients that ready_ is noted of. They are ready once that is over, too, because a
/// reduction writes the memory.
Status SessionImpl::sample_on_device(std::span<const Submission> submissions) {
  for (const Submission& one : submissions) {
    const auto index = static_cast<std::size_t>(one.gradient);
    const Result<void*> stream = device_sampler_->submitted(index, one, step_);
    if (!stream) return stream.status();
    if (*stream == one.stream) continue;
    Ready& own = ready_[index];
    CASYNC_RETURN_IF_ERROR(parts_.device->record(*own.event, *stream));
    own.noted = own.event.get();
  }
  return Status::ok();
}

void SessionImpl::watch(double step_s) {
  const ExecutorCounters& counters = parts_.executor->counters();
  const Spent spent{seconds_of(counters, SpanKind::kEncode), seconds_of(counters, SpanKind::kMerge),
                    seconds_of(counters, SpanKind::kDecode)};
  const double training_s = moments_->recorder().program_seconds_of_last_step();
  const auto sentence = watch_->step_ended(step_, step_s, training_s, spent);
  if (sentence) log().warn("{}", *sentence);
  if (!watch_->over()) return;
  watch_.reset();
  if (!records()) moments_.reset();
}

std::vector<GradientSpec> SessionImpl::declared_specs() const {
  std::vector<GradientSpec> specs;
  for (const Declared& declared : declared_) specs.push_back(declared.spec);
  return specs;
}

void SessionImpl::write_records() {
  const std::vector<GradientSpec> specs = declared_specs();
  const Recorder* const recorder = records() && moments_ ? &moments_->recorder() : nullptr;
  if (device_sampler_) device_sampler_->take_over();
  if (recorder != nullptr) write_model(parts_.options.record_directory, parts_.launch.ranks, *recorder, specs);
  if (sampler_) write_samples(parts_.options.record_directory, recorder, specs, *sampler_);
}

}  // namespace casync::runtime
