// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/bundles.h"

#include <string>
#include <utility>

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
      runs_(runs),
      ready_(ready),
      steps_(steps),
      messages_(messages),
      waiters_(waiters),
      waiting_(arena, runs, messages, failures),
      dissolved_(transport, arena, ready, steps, waiters, waiting_) {}

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
  bundle.parts->begin_members(bundle.step.begun());
  for (const Bundle::Member& member : bundle.parts->members()) {
    transport_.retry_held(member.key);  // other ranks may be there already
  }
  transport_.retry_held(bundle.key);
  ready_.push_first(bundle);
  if (waiting_.empty()) return;
  // Messages that came while this rank did not know the gradients. A part alone dissolves the bundle.
  waiting_.hand_out_bundle(bundle.key);
  for (const Bundle::Member& member : bundle.parts->members()) waiting_.hand_out_to(*member.run);
}

void Bundles::begin_alone(const GradientStart& start) {
  GradientRun& run = *start.run;
  run.seat.bundle()->parts->begin_alone(start.step);
  steps_.begin(start);
  transport_.retry_held(run.seat.bundle()->key);
  if (!waiting_.empty()) waiting_.hand_out_to(run);
}

void Bundles::finish(GradientRun& bundle) {
  bundle.step.stop();
  const Clock::time_point now = Clock::now();
  constexpr std::size_t kAhead = 8;
  const std::span<const Bundle::Member> members = bundle.parts->members();
  for (std::size_t i = 0; i < members.size(); ++i) {
    if (i + kAhead < members.size()) __builtin_prefetch(&members[i + kAhead].run->step, 1);
    members[i].run->step.end(now);
  }
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
  return waiting_.expect(from, message);
}

}  // namespace casync::runtime
