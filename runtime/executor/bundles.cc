// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/bundles.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/check.h"

namespace casync::runtime {
namespace {

/// True if an owner encodes its own elements, too. On a device that may still be under way when a message of one member
/// dissolves the bundle.
bool encodes_for_itself(const GradientRun& run) {
  return run.codec(Hop::kFirst).info().coded_terms || run.codec(Hop::kSecond).info().coded_terms;
}

}  // namespace

Bundles::Bundles(const ExecutorOptions& options, const Device& device, Transport& transport, Arena& arena,
                 const RunTable& runs, ReadyTasks& ready, GradientSteps& steps, Messages& messages, Waiters& waiters,
                 Failures& failures)
    : options_(options),
      device_(device),
      transport_(transport),
      arena_(arena),
      runs_(runs),
      ready_(ready),
      steps_(steps),
      messages_(messages),
      waiters_(waiters),
      failures_(failures) {}

std::vector<std::unique_ptr<GradientRun>> Bundles::make(std::span<GradientRun* const> runs) const {
  std::vector<std::unique_ptr<GradientRun>> bundles;
  if (options_.fusion_bytes == 0 || options_.ranks == 1) return bundles;
  for (const std::vector<GradientRun*>& group : group_small(runs)) {
    if (!device_.is_host() && encodes_for_itself(*group[0])) continue;
    auto bundle = std::make_unique<GradientRun>(group);
    if (runs_.find(bundle->key) == nullptr && bundle->buffers.bound_of(BufferId{0}) <= kMostBundleBytes) {
      bundles.push_back(std::move(bundle));
    } else {
      for (GradientRun* member : group) member->seat.leave();
    }
  }
  return bundles;
}

void Bundles::take_in(std::vector<std::unique_ptr<GradientRun>> bundles) {
  for (std::unique_ptr<GradientRun>& bundle : bundles) bundles_.push_back(std::move(bundle));
  offered_.reserve(bundles_.size());
}

void Bundles::begin_all(std::span<const GradientStart> starts) {
  if (begin_bundles(starts) == starts.size()) return;
  for (const GradientStart& start : starts) {
    if (start.run->seat.bundle() == nullptr) {
      steps_.begin(start);
    } else if (!start.run->step.is_under_way(start.step)) {  // else it began with its bundle
      begin_alone(start);
    }
  }
}

/// Returns the number of gradients that have begun.
std::size_t Bundles::begin_bundles(std::span<const GradientStart> starts) {
  constexpr std::size_t kAhead = 8;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    if (i + kAhead < starts.size()) fetch_step_of(starts[i + kAhead].run);
    const GradientStart& start = starts[i];
    if (start.run->seat.bundle() == nullptr) continue;
    Bundle& bundle = *start.run->seat.bundle()->parts;
    if (bundle.offer(start.run->seat.place(), start.data, start.step)) offered_.push_back(start.run->seat.bundle());
    if (!device_.is_host()) start.run->device.begin(start.device_data, start.ready);
  }
  std::size_t begun = 0;
  for (GradientRun* bundle : offered_) {
    if (!bundle->parts->take_offer()) continue;
    begun += bundle->part_count();
    begin_bundle(*bundle, bundle->parts->offered_step());
  }
  offered_.clear();
  return begun;
}

void Bundles::begin_bundle(GradientRun& bundle, std::uint32_t step) {
  bundle.begin(step, {});
  for (std::size_t i = 0; i < bundle.part_count(); ++i) {
    GradientRun& run = bundle.part(i);
    run.step.begin(step, bundle.parts->members()[i].data, bundle.step.begun());
    transport_.retry_held(run.key);  // other ranks may be there already
  }
  transport_.retry_held(bundle.key);
  ready_.push_first(bundle);
  if (waiting_.empty()) return;
  // Messages that came before this rank knew the gradients. A part alone dissolves the bundle.
  hand_out_bundle(bundle.key);
  for (const Bundle::Member& member : bundle.parts->members()) hand_out_to(*member.run);
}

void Bundles::begin_alone(const GradientStart& start) {
  GradientRun& run = *start.run;
  run.seat.bundle()->parts->begin_alone(start.step);
  steps_.begin(start);
  transport_.retry_held(run.seat.bundle()->key);
  if (!waiting_.empty()) hand_out_to(run);
}

void Bundles::finish(GradientRun& bundle) {
  bundle.step.stop();
  const Clock::time_point now = Clock::now();
  for (const Bundle::Member& member : bundle.parts->members()) member.run->step.end(now);
  waiters_.finish(static_cast<int>(bundle.part_count()));
  steps_.announce_soon();
}

Placement Bundles::place(Rank from, const Message& message) {
  const std::uint32_t step = message.key.step;
  GradientRun* const bundle = runs_.find(message.key.gradient);
  if (bundle != nullptr && bundle->parts) {
    if (bundle->step.is_under_way(step)) return messages_.place_whole(*bundle, from, message, {0, message.key.hop});
    if (step < bundle->part(0).step.completed()) {
      return Placement::refuse(
          data_loss("it sent " + bundle->spec.name + " of step " + std::to_string(step) + ", which is over here"));
    }
    if (!bundle->parts->has_begun_alone(step)) return Placement::later();  // nothing of it has begun
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

WaitingBundle& Bundles::new_waiting(Rank from, const Message& message) {
  if (spare_.empty()) spare_.push_back(std::make_unique<WaitingBundle>());
  WaitingBundle& waiting = *waiting_.emplace_back(std::move(spare_.back()));
  spare_.pop_back();
  waiting.from = from;
  waiting.message = message;
  waiting.arrived = waiting.in_arena = false;
  return waiting;
}

/// Splits a bundle that has arrived.
void Bundles::open(WaitingBundle& waiting) {
  waiting.arrived = true;
  waiting.entries = read_bundle(waiting.view);
  waiting.left = waiting.entries.size();
  waiting.done.assign(waiting.entries.size(), false);
  if (!waiting.entries.empty()) return;
  failures_.report(data_loss("message from rank " + std::to_string(waiting.from) + " (step " +
                             std::to_string(waiting.message.key.step) + "): not a bundle of gradients"));
}

bool Bundles::received(Rank from, const Message& message) {
  const auto found = std::find_if(waiting_.begin(), waiting_.end(), [&](const std::unique_ptr<WaitingBundle>& one) {
    return one->from == from && !one->arrived && one->message.key == message.key;
  });
  if (found == waiting_.end()) return false;
  WaitingBundle& waiting = **found;
  open(waiting);
  if (!waiting.entries.empty()) hand_out(waiting);
  return true;
}

void Bundles::hand_out(WaitingBundle& waiting) {
  const GradientRun* const bundle = runs_.find(waiting.message.key.gradient);
  if (bundle != nullptr && bundle->step.is_under_way(waiting.message.key.step)) {
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
  const auto at = std::find_if(waiting_.begin(), waiting_.end(),
                               [&](const std::unique_ptr<WaitingBundle>& one) { return one.get() == &waiting; });
  if (waiting.in_arena) arena_.give_back(waiting.view);
  spare_.push_back(std::move(*at));
  waiting_.erase(at);
}

/// Gives one part to its gradient, as if it had come alone. Returns false if that has not begun.
bool Bundles::hand_out(WaitingBundle& waiting, std::size_t at) {
  const BundleEntry& entry = waiting.entries[at];
  const GradientRun* const run = runs_.find(entry.key);
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
bool Bundles::hand_over(const WaitingBundle& waiting, const Message& message, ConstView payload) {
  const Rank from = waiting.from;
  const Placement placement = messages_.place(from, message);
  if (placement.kind == Placement::Kind::kLater) return false;
  if (placement.kind == Placement::Kind::kRefuse) {
    failures_.report(data_loss("rank " + std::to_string(from) + ": " + placement.reason.message()));
    return true;
  }
  if (payload.size != 0) std::memcpy(placement.view.data, payload.data, payload.size);
  messages_.received(from, message, Status::ok());
  return true;
}

/// Hands out those that pass the test. Each that has been handed out leaves the list.
template <class Test>
void Bundles::hand_out_if(Test test) {
  for (std::size_t i = 0; i < waiting_.size();) {
    WaitingBundle& waiting = *waiting_[i];
    const std::size_t before = waiting_.size();
    if (waiting.arrived && test(waiting)) hand_out(waiting);
    if (waiting_.size() == before) ++i;
  }
}

void Bundles::hand_out_bundle(std::uint64_t key) {
  hand_out_if([&](const WaitingBundle& waiting) { return waiting.message.key.gradient == key; });
}

/// Gives `run`, which has begun, its parts of the bundles that wait.
void Bundles::hand_out_to(const GradientRun& run) {
  hand_out_if([&](const WaitingBundle& waiting) {
    return waiting.message.key.step == run.step.number() &&
           std::any_of(waiting.entries.begin(), waiting.entries.end(),
                       [&](const BundleEntry& entry) { return entry.key == run.key; });
  });
}

void Bundles::dissolve(GradientRun& bundle) {
  Bundle& parts = *bundle.parts;
  const bool has_sent = parts.has_begun_sends();
  bundle.step.stop();
  parts.begin_alone(bundle.step.number());
  for (const GradientRun::Arrival& arrival : bundle.arrivals.all()) {
    if (arrival.has_begun()) keep_arrival(bundle, arrival);
  }
  if (!parts.has_sends_out()) {
    give_back_buffers(bundle);
  } else {
    waiters_.begin(1);  // until sent_dissolved(): the next step may not begin before
  }
  for (const Bundle::Member& member : parts.members())
    resume(*member.run, {member.run, bundle.step.number(), member.data}, has_sent);
  hand_out_bundle(bundle.key);
}

void Bundles::give_back_buffers(GradientRun& bundle) {
  for (std::size_t i = 0; i < bundle.buffers.count(); ++i) {
    const View memory = bundle.buffers.take(BufferId(static_cast<std::uint32_t>(i)));
    if (memory.data != nullptr) arena_.give_back(memory);
  }
}

/// Splits a message that has come for the bundle, or is coming, like any other. Its memory goes with it.
void Bundles::keep_arrival(GradientRun& bundle, const GradientRun::Arrival& arrival) {
  const BufferId buffer = arrival.to();
  Message message;
  message.key = {bundle.key, bundle.step.number(), kBundledPartition, arrival.id().hop};
  message.codec = bundle.codec_of(buffer).info().number;
  message.payload_bytes = bundle.buffers.bound_of(buffer);
  WaitingBundle& waiting = new_waiting(arrival.from(), message);
  waiting.view = bundle.buffers.take(buffer);
  waiting.in_arena = true;
  if (bundle.tasks.is_done(arrival.task())) open(waiting);
}

/// Begins a member alone. `has_sent`: its encoded gradient has left in the bundle.
void Bundles::resume(GradientRun& run, const GradientStart& start, bool has_sent) {
  run.begin(start.step, start.data);
  transport_.retry_held(run.key);
  for (std::size_t i = 0; i < run.tasks.count(); ++i) {
    const Primitive& task = run.graph.tasks()[i];
    const bool done = has_sent && (std::holds_alternative<Encode>(task) || std::holds_alternative<Send>(task));
    if (done) run.tasks.skip(TaskId(static_cast<std::uint32_t>(i)));
  }
  ready_.push_first(run);
}

void Bundles::sent_dissolved(GradientRun& bundle) {
  if (bundle.parts->has_sends_out()) return;
  give_back_buffers(bundle);
  waiters_.finish(1);
  steps_.announce_soon();
}

}  // namespace casync::runtime
