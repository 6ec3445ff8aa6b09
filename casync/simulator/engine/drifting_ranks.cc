// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/engine/drifting_ranks.h"

#include "casync/simulator/engine/engine.h"

namespace casync::engine {

DriftingRanks::DriftingRanks(Engine& engine) : engine_(engine) {
  const SyncMode& mode = engine.scenario.mode;
  if (!drifts(engine.scenario, engine.options)) return;
  if (mode.staleness > 1) late_.emplace(engine.tasks.ranks(), engine.tasks.gradients(), mode.staleness);
  steps_.emplace(engine.tasks.ranks(), engine.options.steps, mode.is_asynchronous());
  for (std::size_t rank = 0; rank < engine.drift.contributes.size(); ++rank) {
    if (!engine.drift.contributes[rank]) steps_->contributes_nothing(static_cast<Rank>(rank));
  }
}

bool DriftingRanks::submit_late(Rank rank) {
  if (!late_) return false;
  late_->submit(rank);
  begin_late(rank);
  return true;
}

void DriftingRanks::contribute(Rank rank) {
  if (steps_) steps_->contribute(rank);
}

std::optional<bool> DriftingRanks::may_end_late(Rank rank, int step) const {
  if (!late_) return std::nullopt;
  return late_->may_end(rank, step);
}

std::optional<bool> DriftingRanks::end_step(Rank rank) {
  if (!steps_) return std::nullopt;
  if (late_ || engine_.tasks.gradients() == 0) steps_->contribute(rank);
  steps_->end_step(rank, engine_.clock.now());
  return steps_->goes_on(rank);
}

void DriftingRanks::begin_late(Rank rank) {
  while (late_->begin_next(rank)) engine_.progress.begin_run(rank, late_->begun(rank), late_->exchange(rank));
}

void DriftingRanks::finish_one(Rank rank) {
  if (!late_ || !late_->finish_one(rank)) return;
  engine_.record.step_ended(engine_.clock.now());
  begin_late(rank);
}

void DriftingRanks::contribute_own(Rank rank, std::uint32_t gradient, int step) {
  if (engine_.drift.owners == nullptr) return;
  const auto begun = engine_.drift.owners->begin(rank, gradient, static_cast<std::uint32_t>(step));
  for (const std::size_t partition : begun) begin_batch(partition);
}

/// Begins the next batch of a partition, if an answer is due.
void DriftingRanks::begin_batch(std::size_t partition) {
  AnsweringOwners& owners = *engine_.drift.owners;
  if (!owners.begin_batch(partition)) return;
  const AnsweringOwners::Owned& owned = owners.owned(partition);
  engine_.progress.answer_step(owned.batch, static_cast<int>(owners.answered_step(partition)));  // for spans
  engine_.processors.queue(owned.batch);
  engine_.processors.mark(owned.owner);
}

void DriftingRanks::side_over(std::uint32_t task) {
  AnsweringOwners& owners = *engine_.drift.owners;
  const TaskTable& tasks = engine_.tasks;
  const std::size_t partition = owners.partition_of(task);
  const Rank peer = tasks[task].peer;
  switch (tasks[task].verb) {
    case TaskVerb::kRecv: {
      const int step = engine_.progress.step_of_run(tasks.run_of(peer, tasks.gradient_of(task), 0));
      owners.contribute(partition, peer, static_cast<std::uint32_t>(step));
      break;
    }
    case TaskVerb::kSend: owners.left(partition, peer); break;
    default:
      for (const Rank rank : owners.finish(partition)) answer(partition, rank);
  }
  begin_batch(partition);
}

void DriftingRanks::answer(std::size_t partition, Rank rank) {
  const AnsweringOwners::Owned& owned = engine_.drift.owners->owned(partition);
  if (rank != owned.owner) return engine_.progress.make_ready(owned.answers[static_cast<std::size_t>(rank)]);
  engine_.drift.owners->left(partition, rank);
  engine_.progress.answer_own(owned.own_answer);
}

void DriftingRanks::end_rank(Rank rank) {
  if (engine_.drift.owners == nullptr) return;
  engine_.drift.owners->end(rank);
  for (std::size_t partition = 0; partition < engine_.drift.owners->size(); ++partition) begin_batch(partition);
}

std::optional<std::uint64_t> DriftingRanks::steps_ended() const {
  if (!steps_) return std::nullopt;
  return steps_->all_ended();
}

void DriftingRanks::add_paces(Simulation& simulation) const {
  const std::uint32_t gradients = engine_.tasks.gradients();
  if (!engine_.drift.pairings.empty() && gradients > 0) simulation.tasks /= engine_.tasks.slots() / gradients;
  if (!steps_) return;
  simulation.ranks = steps_->paces();
  if (!late_) simulation.step_s = mean_step_s(simulation.ranks);
}

}  // namespace casync::engine
