// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/gradient_run.h"

#include <optional>
#include <string>
#include <utility>

#include "runtime/executor/answering.h"

namespace casync::runtime {
namespace {

static_assert(sizeof(BundleSeat) + sizeof(RunStep) <= 64);

// A bundle's kernels take what all members keep from two buffers of floats.
static_assert(kBundledGradientBytes <= kAlwaysTwoBuffers);

/// The plan's choice for a gradient of this size.
ResidualMemory residual_memory(const RunFacts& facts) {
  const bool is_small = facts.elements * sizeof(float) <= kAlwaysTwoBuffers;
  return is_small ? ResidualMemory::kTwoBuffers : facts.decision.residual_memory;
}

/// The floats that a codec of rounds keeps.
std::optional<Elements> floats_of(const RunExtras& extras) {
  if (!extras.rounds) return std::nullopt;
  return extras.rounds->shape.states;
}

GradientSpec spec_of(std::span<GradientRun* const> members) {
  GradientSpec spec = members[0]->spec;
  spec.name += " and " + std::to_string(members.size() - 1) + " more";
  std::int64_t elements = 0;
  for (const GradientRun* member : members) elements += static_cast<std::int64_t>(member->elements);
  spec.shape = {elements};
  return spec;
}

std::uint64_t key_of(std::span<GradientRun* const> members) {
  std::uint64_t key = 0x9e3779b97f4a7c15ull * members.size();
  for (const GradientRun* member : members) {
    key = (key ^ member->key) * 0x9e3779b97f4a7c15ull;
    key ^= key >> 29;
  }
  return key;
}

}  // namespace

RunExtras::RunExtras() = default;
RunExtras::RunExtras(RunExtras&&) noexcept = default;
RunExtras::~RunExtras() = default;

GradientRun::GradientRun(GradientSpec specification, Decision made, TaskGraph plan_graph, HopCodecs hop_codecs,
                         RunName name, RunExtras extras)
    : RunFacts(std::move(specification), std::move(made), std::move(plan_graph), name),
      kept(hop_codecs.first->info(), hop_codecs.second->info(), elements, residual_memory(*this), floats_of(extras)),
      codecs(std::make_shared<const HopCodecs>(std::move(hop_codecs))),
      rounds(std::move(extras.rounds)),
      answering(std::move(extras.answering)),
      asynchronous(std::move(extras.asynchronous)),
      buffers(graph, *codecs, nullptr, 0),
      tasks(graph),
      arrivals(graph),
      device(width) {
  if (is_float32()) buffers.lie_in_gradient();
  tasks.find_instant(buffers, codecs->first->info().has_result);
}

GradientRun::GradientRun(std::span<GradientRun* const> members)
    : RunFacts(spec_of(members), members[0]->decision, members[0]->graph, {key_of(members), members[0]->self}),
      codecs(members[0]->codecs),
      parts(std::make_unique<Bundle>(members)),
      buffers(graph, *codecs, parts.get(), elements),
      tasks(graph),
      arrivals(graph),
      device(width) {
  scale.count(members[0]->scale.contributors());
  for (std::size_t i = 0; i < members.size(); ++i) members[i]->seat.take(*this, static_cast<std::uint32_t>(i));
}

GradientRun::~GradientRun() = default;

void GradientRun::move_to_device() {
  buffers.leave_gradient();
  tasks.find_instant(buffers, codecs->first->info().has_result);
}

void GradientRun::go_to(std::uint32_t next) {
  for_each([&](GradientRun& run) { run.step.go_to(next); });
}

const GradientRun& GradientRun::under_way() const {
  const GradientRun* const bundle = seat.bundle();
  if (bundle != nullptr && bundle->step.is_under_way(step.number())) return *bundle;
  if (related.instead() != nullptr) return *related.instead();
  return rounds && rounds->under_way() != nullptr ? *rounds->under_way() : *this;
}

void GradientRun::begin(std::uint32_t number, View data) {
  related.choose(nullptr);
  tasks.begin();
  buffers.begin();
  arrivals.begin();
  if (parts) parts->begin();
  if (rounds) rounds->begin();
  if (asynchronous) asynchronous->begin();
  step.begin(number, data, Clock::now());
}

}  // namespace casync::runtime
