// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/dissolved_bundles.h"

namespace casync::runtime {
void DissolvedBundles::dissolve(GradientRun& bundle) {
  Bundle& parts = *bundle.parts;
  const bool has_sent = parts.has_begun_sends();
  bundle.step.stop();
  parts.begin_alone(bundle.step.number());
  for (const Arrivals::Arrival& arrival : bundle.arrivals.all()) {
    if (arrival.has_begun()) keep_arrival(bundle, arrival);
  }
  if (!parts.has_sends_out()) {
    give_back_buffers(bundle);
  } else {
    waiters_.begin(1);  // until sent(): the next step may not begin earlier
  }
  for (const Bundle::Member& member : parts.members())
    resume(*member.run, {member.run, bundle.step.number(), member.data}, has_sent);
  waiting_.hand_out_bundle(bundle.key);
}

void DissolvedBundles::give_back_buffers(GradientRun& bundle) {
  for (std::size_t i = 0; i < bundle.buffers.count(); ++i) {
    const View memory = bundle.buffers.take(BufferId(static_cast<std::uint32_t>(i)));
    if (memory.data != nullptr) arena_.give_back(memory);
  }
}

/// Splits a message that has come for the bundle, or is coming, like any other. Its memory goes with it.
void DissolvedBundles::keep_arrival(GradientRun& bundle, const Arrivals::Arrival& arrival) {
  const BufferId buffer = arrival.to();
  Message message;
  message.key = {bundle.key, bundle.step.number(), kBundledPartition, arrival.id().hop};
  message.codec = bundle.codec_of(buffer).info().number;
  message.payload_bytes = bundle.buffers.bound_of(buffer);
  waiting_.keep(arrival.from(), message, bundle.buffers.take(buffer), bundle.tasks.is_done(arrival.task()));
}

/// Begins a member alone. `has_sent`: its encoded gradient has left in the bundle.
void DissolvedBundles::resume(GradientRun& run, const GradientStart& start, bool has_sent) {
  run.begin(start.step, start.data);
  transport_.retry_held(run.key);
  for (std::size_t i = 0; i < run.tasks.count(); ++i) {
    const Primitive& task = run.graph.tasks()[i];
    const bool done = has_sent && (std::holds_alternative<Encode>(task) || std::holds_alternative<Send>(task));
    if (done) run.tasks.skip(TaskId(static_cast<std::uint32_t>(i)));
  }
  ready_.push_first(run);
}

void DissolvedBundles::sent(GradientRun& bundle) {
  if (bundle.parts->has_sends_out()) return;
  give_back_buffers(bundle);
  waiters_.finish(1);
  steps_.announce_soon();
}

}  // namespace casync::runtime
