// SPDX-License-Identifier: Apache-2.0
//
// Bundles: small gradients that are submitted together go through encode, send, merge and decode as one. A rank decides
// for itself, in each step: where members begin one by one, a bundle that comes is taken apart, and where they began as
// a bundle, a message of one member dissolves it.
#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/check.h"
#include "runtime/executor/executor.h"
#include "runtime/executor/stream_slot.h"

namespace casync::runtime {

namespace {

/// True if an owner encodes its own elements, too. On a device that may still be under way when a message of one member
/// dissolves the bundle.
bool encodes_for_itself(const GradientRun& run) {
  return run.codec(Hop::kFirst).info().coded_terms || run.codec(Hop::kSecond).info().coded_terms;
}

}  // namespace

std::vector<std::unique_ptr<GradientRun>> Executor::bundle_small(std::span<GradientRun* const> runs) const {
  std::vector<std::unique_ptr<GradientRun>> bundles;
  if (options_.fusion_bytes == 0 || options_.ranks == 1 || rounds_ != nullptr) return bundles;
  for (const std::vector<GradientRun*>& group : group_small(runs)) {
    if (!device_.is_host() && encodes_for_itself(*group[0])) continue;
    auto bundle = std::make_unique<GradientRun>(group);
    if (!by_key_.contains(bundle->key) && bundle->bound_of(BufferId{0}) <= kMostBundleBytes) {
      bundles.push_back(std::move(bundle));
    } else {
      for (GradientRun* member : group) member->bundle = nullptr;
    }
  }
  return bundles;
}

/// Bundles whose members are all there begin as such.
void Executor::begin_all(std::span<const Start> starts) {
  if (begin_bundles(starts) == starts.size()) return;
  for (const Start& start : starts) {
    if (start.run->bundle == nullptr) {
      begin(start);
    } else if (!start.run->active || start.run->step != start.step) {  // else it began with its bundle
      begin_alone(start);
    }
  }
}

/// Returns the number of gradients that have begun.
std::size_t Executor::begin_bundles(std::span<const Start> starts) {
  constexpr std::size_t kAhead = 8;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    if (i + kAhead < starts.size()) fetch_step_of(starts[i + kAhead].run);
    const Start& start = starts[i];
    if (start.run->bundle == nullptr) continue;
    Bundle& bundle = *start.run->bundle->parts;
    if (bundle.offered++ == 0) offered_.push_back(start.run->bundle);
    bundle.members[start.run->bundle_place].data = start.data;
    if (device_tasks_ != nullptr) {
      start.run->device_data = start.device_data;
      start.run->ready = start.ready;
    }
    bundle.step = start.step;
  }
  std::size_t begun = 0;
  for (GradientRun* bundle : offered_) {
    if (std::exchange(bundle->parts->offered, 0) != bundle->part_count()) continue;
    begun += bundle->part_count();
    begin_bundle(*bundle, bundle->parts->step);
  }
  offered_.clear();
  return begun;
}

void Executor::begin_bundle(GradientRun& bundle, std::uint32_t step) {
  bundle.begin(step, {});
  for (std::size_t i = 0; i < bundle.part_count(); ++i) {
    GradientRun& run = bundle.part(i);
    run.data = bundle.parts->members[i].data;
    run.step = step;
    run.active = run.finite = run.keeps = true;
    run.begun = bundle.begun;
    transport_->retry_held(run.key);  // other ranks may be there already
  }
  transport_->retry_held(bundle.key);
  for (std::size_t i = 0; i < bundle.waits_for.size(); ++i) {
    if (bundle.waits_for[i] == 0) make_ready(bundle, TaskId(i));
  }
  if (waiting_bundles_.empty()) return;
  // Hands out messages that came before this rank knew the gradients. A part alone dissolves the bundle.
  for (std::size_t i = 0; i < waiting_bundles_.size();) {
    const std::size_t before = waiting_bundles_.size();
    WaitingBundle& waiting = *waiting_bundles_[i];
    if (waiting.arrived && waiting.message.key.gradient == bundle.key) hand_out(waiting);
    if (waiting_bundles_.size() == before) ++i;
  }
  for (const Bundle::Member& member : bundle.parts->members) hand_out_to(*member.run);
}

void Executor::begin_alone(const Start& start) {
  GradientRun& run = *start.run;
  run.bundle->parts->alone_until = start.step + 1;
  begin(start);
  transport_->retry_held(run.bundle->key);
  if (!waiting_bundles_.empty()) hand_out_to(run);
}

void Executor::finish_bundle(GradientRun& bundle) {
  bundle.active = false;
  ++bundle.steps;
  const double seconds = Seconds(Clock::now() - bundle.begun).count();
  for (const Bundle::Member& member : bundle.parts->members) {
    GradientRun& run = *member.run;
    run.active = false;
    ++run.steps;
    run.total_s += seconds;
    run.completed.store(run.step + 1, std::memory_order_release);
  }
  active_.fetch_sub(static_cast<int>(bundle.part_count()));
  announce_ = true;
}

Placement Executor::place_bundle(Rank from, const Message& message) {
  const std::uint32_t step = message.key.step;
  GradientRun* const bundle = find_run(message.key.gradient);
  if (bundle != nullptr && bundle->parts) {
    if (bundle->active && bundle->step == step) return place_whole(*bundle, from, message, {0, message.key.hop});
    if (step < bundle->part(0).completed.load(std::memory_order_relaxed)) {
      return Placement::refuse(
          data_loss("it sent " + bundle->spec.name + " of step " + std::to_string(step) + ", which is over here"));
    }
    if (bundle->parts->alone_until != step + 1) return Placement::later();  // nothing of it has begun
  }
  if (message.payload_bytes > kMostBundleBytes) {
    return Placement::refuse(data_loss("it sent a bundle of " + std::to_string(message.payload_bytes) +
                                       " bytes, expected at most " + std::to_string(kMostBundleBytes)));
  }
  WaitingBundle& waiting = new_waiting(from, message);
  waiting.bytes.resize(message.payload_bytes);
  waiting.view = {waiting.bytes.data(), waiting.bytes.size()};
  return Placement::here(waiting.view);
}

Executor::WaitingBundle& Executor::new_waiting(Rank from, const Message& message) {
  if (spare_bundles_.empty()) spare_bundles_.push_back(std::make_unique<WaitingBundle>());
  WaitingBundle& waiting = *waiting_bundles_.emplace_back(std::move(spare_bundles_.back()));
  spare_bundles_.pop_back();
  waiting.from = from;
  waiting.message = message;
  waiting.arrived = waiting.in_arena = false;
  return waiting;
}

/// Splits a bundle that has arrived.
void Executor::open(WaitingBundle& waiting) {
  waiting.arrived = true;
  waiting.entries = read_bundle(waiting.view);
  waiting.left = waiting.entries.size();
  waiting.done.assign(waiting.entries.size(), false);
  if (!waiting.entries.empty()) return;
  report(data_loss("message from rank " + std::to_string(waiting.from) + " (step " +
                   std::to_string(waiting.message.key.step) + "): not a bundle of gradients"));
}

/// Returns false if the message is not one to be taken apart.
bool Executor::received_waiting(Rank from, const Message& message) {
  const auto found =
      std::find_if(waiting_bundles_.begin(), waiting_bundles_.end(), [&](const std::unique_ptr<WaitingBundle>& one) {
        return one->from == from && !one->arrived && one->message.key == message.key;
      });
  if (found == waiting_bundles_.end()) return false;
  WaitingBundle& waiting = **found;
  open(waiting);
  if (!waiting.entries.empty()) hand_out(waiting);
  return true;
}

void Executor::hand_out(WaitingBundle& waiting) {
  const GradientRun* const bundle = find_run(waiting.message.key.gradient);
  if (bundle != nullptr && bundle->active && bundle->step == waiting.message.key.step) {
    hand_over(waiting, waiting.message, waiting.view);
    std::fill(waiting.done.begin(), waiting.done.end(), true);
    waiting.left = 0;
  }
  for (std::size_t i = 0; i < waiting.entries.size(); ++i) {
    if (!waiting.done[i] && hand_out(waiting, i)) {
      waiting.done[i] = true;
      --waiting.left;
    }
  }
  if (waiting.left != 0) return;
  const auto at = std::find_if(waiting_bundles_.begin(), waiting_bundles_.end(),
                               [&](const std::unique_ptr<WaitingBundle>& one) { return one.get() == &waiting; });
  if (waiting.in_arena) arena_.give_back(waiting.view);
  spare_bundles_.push_back(std::move(*at));
  waiting_bundles_.erase(at);
}

/// Gives one part to its gradient, as if it had come alone. Returns false if that has not begun.
bool Executor::hand_out(WaitingBundle& waiting, std::size_t at) {
  const BundleEntry& entry = waiting.entries[at];
  const GradientRun* const run = find_run(entry.key);
  if (run == nullptr || run->parts) return false;
  const ConstView bytes(waiting.view);
  Message part = waiting.message;
  part.key.gradient = entry.key;
  part.key.partition = 0;
  part.elements = run->elements;
  part.payload_bytes = entry.bytes;
  part.finite = bundle_part_is_finite(bytes, waiting.entries.size(), at);
  return hand_over(waiting, part, bytes.slice(entry.offset, entry.bytes));
}

/// Takes `message` as if it came from the network. Returns false if it has to wait.
bool Executor::hand_over(const WaitingBundle& waiting, const Message& message, ConstView payload) {
  const Rank from = waiting.from;
  const Placement placement = place(from, message);
  if (placement.kind == Placement::Kind::kLater) return false;
  if (placement.kind == Placement::Kind::kRefuse) {
    report(data_loss("rank " + std::to_string(from) + ": " + placement.reason.message()));
    return true;
  }
  if (payload.size != 0) std::memcpy(placement.view.data, payload.data, payload.size);
  received(from, message, Status::ok());
  return true;
}

/// Gives `run`, which has begun, its parts of the bundles that wait.
void Executor::hand_out_to(const GradientRun& run) {
  for (std::size_t i = 0; i < waiting_bundles_.size();) {
    WaitingBundle& waiting = *waiting_bundles_[i];
    const std::size_t before = waiting_bundles_.size();
    const bool has = waiting.arrived && waiting.message.key.step == run.step &&
                     std::any_of(waiting.entries.begin(), waiting.entries.end(),
                                 [&](const BundleEntry& entry) { return entry.key == run.key; });
    if (has) hand_out(waiting);
    if (waiting_bundles_.size() == before) ++i;
  }
}

/// A message of one member has come while the bundle is under way: its sender does not have the others yet, and may
/// wait for this one's result before it has. So the members go on one by one, from where the bundle is. An owner has
/// made nothing yet, as a contribution was missing; others have sent theirs, as a result is here.
void Executor::dissolve(GradientRun& bundle) {
  Bundle& parts = *bundle.parts;
  const bool has_sent = parts.sends_begun != 0;
  bundle.active = false;
  parts.alone_until = bundle.step + 1;
  for (const GradientRun::Arrival& arrival : bundle.arrivals) {
    if (arrival.begun) keep_arrival(bundle, arrival);
  }
  for (std::size_t i = 0; i < bundle.graph.buffers().size(); ++i) {
    GradientRun::BufferState& state = bundle.buffers[i];
    if (!state.from_arena || state.memory.data == nullptr || parts.sends_out != 0) continue;
    arena_.give_back({state.memory.data, bundle.bound_of(BufferId(static_cast<std::uint32_t>(i)))});
    state = {};
  }
  if (parts.sends_out != 0) active_.fetch_add(1);  // until sent(): the next step may not begin before
  for (const Bundle::Member& member : parts.members)
    resume(*member.run, {member.run, bundle.step, member.data}, has_sent);
  for (std::size_t i = 0; i < waiting_bundles_.size();) {
    WaitingBundle& waiting = *waiting_bundles_[i];
    const std::size_t before = waiting_bundles_.size();
    if (waiting.arrived && waiting.message.key.gradient == bundle.key) hand_out(waiting);
    if (waiting_bundles_.size() == before) ++i;
  }
}

/// Splits a message that has come for the bundle, or is coming, like any other. Its memory goes with it.
void Executor::keep_arrival(GradientRun& bundle, const GradientRun::Arrival& arrival) {
  const BufferId buffer = std::get<Recv>(bundle.graph.tasks()[TaskGraph::index(arrival.task)]).to;
  GradientRun::BufferState& state = bundle.state(buffer);
  Message message;
  message.key = {bundle.key, bundle.step, kBundledPartition, arrival.id.hop};
  message.codec = bundle.codec_of(buffer).info().number;
  message.payload_bytes = bundle.bound_of(buffer);
  WaitingBundle& waiting = new_waiting(arrival.from, message);
  waiting.view = {state.memory.data, message.payload_bytes};
  waiting.in_arena = true;
  if (bundle.waits_for[TaskGraph::index(arrival.task)] == GradientRun::kTaskDone) open(waiting);
  state = {};
}

/// Begins a member alone. `has_sent`: its encoded gradient has left in the bundle.
void Executor::resume(GradientRun& run, const Start& start, bool has_sent) {
  run.begin(start.step, start.data);
  transport_->retry_held(run.key);
  for (std::size_t i = 0; i < run.waits_for.size(); ++i) {
    const Primitive& task = run.graph.tasks()[i];
    const bool done = has_sent && (std::holds_alternative<Encode>(task) || std::holds_alternative<Send>(task));
    if (done) skip(run, TaskId(i));
  }
  for (std::size_t i = 0; i < run.waits_for.size(); ++i) {
    if (run.waits_for[i] == 0) make_ready(run, TaskId(i));
  }
}

/// Marks the task as done, but makes no task ready and releases no buffer.
void Executor::skip(GradientRun& run, TaskId task) {
  run.waits_for[TaskGraph::index(task)] = GradientRun::kTaskDone;
  for (const TaskId next : run.graph.successors(task)) {
    int& left = run.waits_for[TaskGraph::index(next)];
    if (left != GradientRun::kTaskDone) --left;
  }
  --run.tasks_left;
}

/// A send of a bundle that has been dissolved.
void Executor::sent_dissolved(GradientRun& bundle) {
  if (bundle.parts->sends_out != 0) return;
  for (std::size_t i = 0; i < bundle.buffers.size(); ++i) {
    GradientRun::BufferState& state = bundle.buffers[i];
    if (state.from_arena && state.memory.data != nullptr) {
      arena_.give_back({state.memory.data, bundle.bound_of(BufferId(static_cast<std::uint32_t>(i)))});
    }
    state = {};
  }
  active_.fetch_sub(1);
  announce_ = true;
}

}  // namespace casync::runtime
