// SPDX-License-Identifier: Apache-2.0
//
// What a session remembers and what it tells: residuals, counters, the timeline's file.
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/log.h"
#include "runtime/session/agreement.h"
#include "runtime/session/session_impl.h"

namespace casync::runtime {
namespace {

double seconds_of(const ExecutorCounters& counters, SpanKind kind) {
  return counters.seconds[static_cast<int>(kind)].load();
}

nlohmann::json to_json(const SessionStats& stats) {
  return {{"steps", stats.steps},
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
          {"transport", stats.transport}};
}

/// What one rank sends of a gradient in a step.
Bytes payload_bytes(const GradientRun& run) {
  Bytes sum = 0;
  for (const Primitive& primitive : run.graph.tasks()) {
    const Send* send = std::get_if<Send>(&primitive);
    if (send != nullptr) sum += run.codec_of(send->from).encoded_bound(run.slice_of(send->from).count);
  }
  return sum;
}

nlohmann::json to_json(const GradientRun& run) {
  const double steps = run.steps == 0 ? 1 : static_cast<double>(run.steps);
  return {{"name", run.spec.name},
          {"elements", run.elements},
          {"dtype", std::string(name_of(run.spec.dtype))},
          {"codec", text_of(run.decision.codec)},
          {"second_hop", text_of(run.decision.second_hop)},
          {"strategy", std::string(name_of(run.decision.strategy))},
          {"partitions", run.decision.partitions},
          {"priority", run.decision.priority},
          {"payload_bytes", payload_bytes(run)},
          {"steps", run.steps},
          {"mean_ms", 1e3 * run.total_s / steps},
          {"exposed_ms", 1e3 * run.exposed_s.load() / steps}};
}

}  // namespace

SessionStats SessionImpl::stats() const {
  const TransportStats transport = executor_->transport_stats();
  const ExecutorCounters& counters = executor_->counters();
  SessionStats stats;
  {
    std::lock_guard lock(mutex_);
    stats.steps = step_;
    if (step_ > 0) stats.allocations = counters.allocations.load() - first_step_allocations_.load();
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
  stats.transport = executor_->transport_description();
  return stats;
}

Result<SessionState> SessionImpl::state() const {
  std::lock_guard lock(mutex_);
  if (!executor_->idle()) return invalid_argument("a step is under way: end it, then take the state");
  SessionState state;
  state.step = step_;
  state.ranks = launch_.ranks;
  state.rank = launch_.rank;
  for (const GradientRun* run : runs_) {
    GradientState one;
    one.codec = state_label(run->decision);
    if (const float* residual = run->committed_residual()) one.residual.assign(residual, residual + run->elements);
    state.gradients.emplace(run->spec.name, std::move(one));
  }
  for (const auto& [name, one] : waiting_state_) state.gradients.emplace(name, one);
  return state;
}

Status SessionImpl::load_state(const SessionState& state) {
  std::lock_guard lock(mutex_);
  if (!executor_->idle()) return invalid_argument("a step is under way: end it, then load a state");
  if (state.ranks != launch_.ranks || state.rank != launch_.rank) {
    return invalid_argument("this is the state of rank " + std::to_string(state.rank) + " of " +
                            std::to_string(state.ranks) + ", here is rank " + std::to_string(launch_.rank) + " of " +
                            std::to_string(launch_.ranks) + ": residuals belong to partitions, and those differ");
  }
  for (const auto& [name, one] : state.gradients) {
    const auto known = ids_.find(name);
    if (known == ids_.end() || static_cast<std::size_t>(known->second) >= runs_.size()) {
      waiting_state_[name] = one;
      continue;
    }
    CASYNC_RETURN_IF_ERROR(load_one(name, one));
  }
  step_ = state.step;
  for (GradientRun* run : runs_) run->completed.store(step_);
  return Status::ok();
}

Status SessionImpl::load_one(const std::string& name, const GradientState& state) {
  GradientRun& run = *runs_[static_cast<std::size_t>(ids_.at(name))];
  const std::string label = state_label(run.decision);
  if (state.codec != label) {
    return invalid_argument("gradient " + name + ": the state is of " + state.codec + ", here it is " + label);
  }
  if (!run.keeps_residual) return Status::ok();
  if (state.residual.size() != run.elements) {
    return invalid_argument("gradient " + name + ": a residual of " + std::to_string(state.residual.size()) +
                            " elements, the gradient has " + std::to_string(run.elements));
  }
  std::memcpy(run.residuals[run.committed]->view().data, state.residual.data(), run.elements * sizeof(float));
  return Status::ok();
}

void SessionImpl::write_trace() const {
  nlohmann::json gradients = nlohmann::json::array();
  for (const GradientRun* run : runs_) gradients.push_back(to_json(*run));
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  const char* link = std::getenv("CASYNC_LINK");
  const nlohmann::json header = {{"rank", launch_.rank},
                                 {"ranks", launch_.ranks},
                                 {"host", host},
                                 {"transport", executor_->transport_description()},
                                 {"link", link == nullptr ? "" : link},
                                 {"epoch_us", timeline_->epoch_us()},
                                 {"dropped", timeline_->dropped()},
                                 {"stats", to_json(stats())},
                                 {"gradients", gradients}};
  std::error_code error;
  std::filesystem::create_directories(options_.trace_directory, error);
  const std::string path = options_.trace_directory + "/rank" + std::to_string(launch_.rank) + ".trace.json";
  if (Status status = timeline_->write(path, launch_.rank, header.dump()); !status) {
    log().warn("{}", status.text());  // a report is not worth a training run
  }
}

}  // namespace casync::runtime
