// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/dissolved_bundles.h"

namespace casync::runtime {
namespace {

/// Marks the task as done, but makes no task ready and releases no buffer.
void skip(GradientRun& run, TaskId task) {
  run.waits_for[TaskGraph::index(task)] = GradientRun::kTaskDone;
  for (const TaskId next : run.graph.successors(task)) {
    int& left = run.waits_for[TaskGraph::index(next)];
    if (left != GradientRun::kTaskDone) --left;
  }
  --run.tasks_left;
}

}  // namespace

void DissolvedBundles::dissolve(GradientRun& bundle) {
  Bundle& parts = *bundle.parts;
  const bool has_sent = parts.sends_begun != 0;
  bundle.active = false;
  parts.alone_until = bundle.step + 1;
  for (const GradientRun::Arrival& arrival : bundle.arrivals) {
    if (arrival.begun) keep_arrival(bundle, arrival);
  }
  if (parts.sends_out == 0) {
    give_back_buffers(bundle);
  } else {
    waiters_.begin(1);  // until sent(): the next step may not begin earlier
  }
  for (const Bundle::Member& member : parts.members)
    resume(*member.run, {member.run, bundle.step, member.data}, has_sent);
  waiting_.hand_out_bundle(bundle.key);
}

void DissolvedBundles::give_back_buffers(GradientRun& bundle) {
  for (std::size_t i = 0; i < bundle.buffers.size(); ++i) {
    GradientRun::BufferState& state = bundle.buffers[i];
    if (!state.from_arena || state.memory.data == nullptr) continue;
    arena_.give_back({state.memory.data, bundle.bound_of(BufferId(static_cast<std::uint32_t>(i)))});
    state = {};
  }
}

/// Splits a message that has come for the bundle, or is coming, like any other. Its memory goes with it.
void DissolvedBundles::keep_arrival(GradientRun& bundle, const GradientRun::Arrival& arrival) {
  const BufferId buffer = std::get<Recv>(bundle.graph.tasks()[TaskGraph::index(arrival.task)]).to;
  GradientRun::BufferState& state = bundle.state(buffer);
  Message message;
  message.key = {bundle.key, bundle.step, kBundledPartition, arrival.id.hop};
  message.codec = bundle.codec_of(buffer).info().number;
  message.payload_bytes = bundle.bound_of(buffer);
  const bool arrived = bundle.waits_for[TaskGraph::index(arrival.task)] == GradientRun::kTaskDone;
  waiting_.keep(arrival.from, message, {state.memory.data, message.payload_bytes}, arrived);
  state = {};
}

/// Begins a member alone. `has_sent`: its encoded gradient has left in the bundle.
void DissolvedBundles::resume(GradientRun& run, const GradientStart& start, bool has_sent) {
  run.begin(start.step, start.data);
  transport_.retry_held(run.key);
  for (std::size_t i = 0; i < run.waits_for.size(); ++i) {
    const Primitive& task = run.graph.tasks()[i];
    const bool done = has_sent && (std::holds_alternative<Encode>(task) || std::holds_alternative<Send>(task));
    if (done) skip(run, TaskId(i));
  }
  ready_.push_first(run);
}

void DissolvedBundles::sent(GradientRun& bundle) {
  if (bundle.parts->sends_out != 0) return;
  give_back_buffers(bundle);
  waiters_.finish(1);
  steps_.announce_soon();
}

}  // namespace casync::runtime
