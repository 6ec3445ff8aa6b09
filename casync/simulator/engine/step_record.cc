// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/engine/step_record.h"

#include <utility>

namespace casync::engine {
namespace {

SimulatedKind kind_of(TaskVerb verb) {
  switch (verb) {
    case TaskVerb::kEncode: return SimulatedKind::kEncode;
    case TaskVerb::kMerge: return SimulatedKind::kMerge;
    case TaskVerb::kDecode: return SimulatedKind::kDecode;
    case TaskVerb::kSend: return SimulatedKind::kSend;
    default: return SimulatedKind::kRecv;
  }
}

constexpr double StepParts::*kParts[] = {
    &StepParts::training_s,  &StepParts::encode_s,  &StepParts::merge_s,   &StepParts::decode_s,
    &StepParts::copies_s,    &StepParts::tasks_s,   &StepParts::wire_s,    &StepParts::messages_s,
    &StepParts::processor_s, &StepParts::waiting_s, &StepParts::exposed_s,
};

}  // namespace

void StepRecord::add_work(Rank rank, std::uint32_t task, double seconds) {
  CodecWork& work = times_[tasks_.gradient_of(task)].work;
  switch (tasks_[task].verb) {
    case TaskVerb::kEncode:
      add(rank, &StepParts::encode_s, seconds);
      work.encode_s += seconds;
      break;
    case TaskVerb::kMerge:
      add(rank, &StepParts::merge_s, seconds);
      work.merge_s += seconds;
      break;
    default: add(rank, &StepParts::decode_s, seconds); work.decode_s += seconds;
  }
}

void StepRecord::keep_span(std::uint32_t task, int step, double from, double to) {
  if (!options_.spans) return;
  const FlatTask& flat = tasks_[task];
  spans_.push_back({kind_of(flat.verb), tasks_.rank_of(task), step, tasks_.gradient_of(task), flat.partition,
                    flat.message_hop, flat.peer, flat.bytes, from, to});
}

void StepRecord::keep_pass(SimulatedKind kind, Rank rank, int step, double from, double to) {
  if (options_.spans) spans_.push_back({kind, rank, step, 0, 0, 0, -1, 0, from, to});
}

Simulation StepRecord::means(double steps, double shares) {
  Simulation simulation;
  simulation.step_s = ended_ / steps;
  simulation.gradients = std::move(times_);
  simulation.spans = std::move(spans_);
  for (const StepParts& rank : sums_) {
    for (double StepParts::*part : kParts) simulation.parts.*part += rank.*part / shares;
  }
  for (GradientTimes& times : simulation.gradients) {
    times.sync_s /= shares;
    times.waiting_s /= shares;
    for (double* part : {&times.work.encode_s, &times.work.merge_s, &times.work.decode_s}) *part /= shares;
  }
  simulation.wire_bytes_per_rank = bytes_sent_ / shares;
  simulation.messages_per_rank = static_cast<double>(messages_) / shares;
  const Symmetry& symmetry = tasks_.flat().symmetry();
  simulation.by = symmetry.is_trivial() ? SimulatedBy::kAllRanks : SimulatedBy::kSymmetricRanks;
  simulation.tasks = std::uint64_t{tasks_.size()} * static_cast<std::uint64_t>(symmetry.ranks / symmetry.period);
  return simulation;
}

}  // namespace casync::engine
