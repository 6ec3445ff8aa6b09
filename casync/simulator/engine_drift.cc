// SPDX-License-Identifier: Apache-2.0
//
// Ranks that do not step together: results that come several steps late, owners that answer each rank by itself, and
// neighbours, of which one may be a step ahead.
#include <algorithm>

#include "casync/simulator/engine.h"

namespace casync {

/// Returns true for a task of an owner of asynchronous ranks, which is no part of its rank's steps.
bool Engine::is_side(std::uint32_t task) const {
  return drift_.owners != nullptr && tasks_[task].run % slots_ >= gradients_;
}

double Engine::work_s(std::uint32_t task) const {
  const bool is_batch = is_side(task) && tasks_[task].verb == TaskVerb::kMerge;
  return is_batch ? drift_.owners->seconds(drift_.owners->partition_of(task)) : tasks_[task].seconds;
}

void Engine::begin_late(Rank rank) {
  while (late_->begin_next(rank)) begin_run(rank, late_->begun(rank), late_->exchange(rank));
}

void Engine::finish_late(Rank rank) {
  if (!late_->finish_one(rank)) return;
  ended_ = std::max(ended_, now_);
  begin_late(rank);
}

void Engine::contribute_own(Rank rank, std::uint32_t gradient, int step) {
  const auto begun = drift_.owners->begin(rank, gradient, static_cast<std::uint32_t>(step));
  for (const std::size_t partition : begun) begin_batch(partition);
}

/// Begins the next batch of a partition, if an answer is due.
void Engine::begin_batch(std::size_t partition) {
  AnsweringOwners& owners = *drift_.owners;
  if (!owners.begin_batch(partition)) return;
  const AnsweringOwners::Owned& owned = owners.owned(partition);
  runs_[tasks_[owned.batch].run].step = static_cast<int>(owners.answered_step(partition));  // for spans
  state(owned.owner).ready.push(urgent(owned.batch));
  mark(owned.owner);
}

/// A contribution has come, an answer has left, or a batch is over.
void Engine::side_over(std::uint32_t task) {
  AnsweringOwners& owners = *drift_.owners;
  const std::size_t partition = owners.partition_of(task);
  const Rank peer = tasks_[task].peer;
  switch (tasks_[task].verb) {
    case TaskVerb::kRecv: {
      const RunState& contributed = runs_[run_of(peer, gradient_of(task), 0)];
      owners.contribute(partition, peer, static_cast<std::uint32_t>(contributed.step));
      break;
    }
    case TaskVerb::kSend: owners.left(partition, peer); break;
    default:
      for (const Rank rank : owners.finish(partition)) answer(partition, rank);
  }
  begin_batch(partition);
}

void Engine::answer(std::size_t partition, Rank rank) {
  const AnsweringOwners::Owned& owned = drift_.owners->owned(partition);
  if (rank != owned.owner) return make_ready(owned.answers[static_cast<std::size_t>(rank)]);
  drift_.owners->left(partition, rank);
  waits_for_[owned.own_answer] = 0;
  done_.push_back(owned.own_answer);
}

/// A rank has ended its last step: nobody waits for it.
void Engine::end_rank(Rank rank) {
  drift_.owners->end(rank);
  for (std::size_t partition = 0; partition < drift_.owners->size(); ++partition) begin_batch(partition);
}

void Engine::add_paces(Simulation& simulation) const {
  if (!drift_.pairings.empty()) simulation.tasks /= slots_ / gradients_;
  if (!steps_) return;
  simulation.ranks = steps_->paces();
  if (!late_) simulation.step_s = mean_step_s(simulation.ranks);
}

}  // namespace casync
