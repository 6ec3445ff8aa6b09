// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/asynchronous_ranks.h"

#include <optional>
#include <utility>

#include "runtime/executor/message_hops.h"

namespace casync::runtime {

AsynchronousRanks::AsynchronousRanks(const ExecutorOptions& options, Transport& transport, ReadyTasks& ready,
                                     GradientSteps& steps, Failures& failures, WorkRecord& record)
    : options_(options),
      transport_(transport),
      steps_(steps),
      failures_(failures),
      ended_(options.ranks),
      waits_(options, transport, runs_, ended_),
      answers_(ready, steps, failures, record) {}

template <class Visit>
void AsynchronousRanks::for_each_side(Visit visit) const {
  for (GradientRun* const run : runs_) {
    if (run->owner_side()) visit(*run->owner_side());
  }
}

void AsynchronousRanks::take_in(GradientRun& run) {
  runs_.push_back(&run);
  if (!run.owner_side()) return;
  Answering& answering = *run.owner_side()->answering;
  for (Rank rank = 0; rank < options_.ranks; ++rank) {
    if (!ended_.has_ended(rank)) continue;
    answering.for_each_task([&](TaskId batch) { answering.of(batch).batches().end(rank); });
  }
  if (!ended_.has_ended(options_.rank)) return;
  answering.put_off_from(Answering::kEver);
  transport_.retry_held();
}

void AsynchronousRanks::begin(GradientRun& run) {
  waits_.note_step();
  if (run.owner_side()) answers_.contribute_own(*run.owner_side());
  if (!run.asynchronous->asks_owners()) return;
  for (const Primitive& task : run.graph.tasks()) {
    const Recv* const recv = std::get_if<Recv>(&task);
    if (recv == nullptr || recv->from == options_.rank) continue;
    send_word(transport_, recv->from, {run.key, run.step.number(), recv->id.partition, kContributionHop});
  }
}

void AsynchronousRanks::check_consensus() {
  for (const GradientRun* const run : runs_) {
    if (!run->step.is_under_way() || run->related.instead() == nullptr) continue;
    const std::optional<Rank> ended = ended_.first_without(run->step.number());
    if (!ended) continue;
    return failures_.report(peer_failure("rank " + std::to_string(*ended) +
                                         " has closed its session, and the consensus of step " +
                                         std::to_string(run->step.number()) + " needs its parameters"));
  }
}

void AsynchronousRanks::end_rank(Rank rank, std::uint32_t steps) {
  if (!ended_.end(rank, steps)) return;
  steps_.announce_soon();
  check_consensus();
  for_each_side([&](GradientRun& side) { answers_.end_rank(side, rank); });
}

void AsynchronousRanks::end_own(std::uint32_t steps) {
  for_each_side([](GradientRun& side) { side.answering->put_off_from(Answering::kEver); });
  transport_.retry_held();
  for (Rank peer = 0; peer < options_.ranks; ++peer) {
    if (peer != options_.rank) send_word(transport_, peer, {.step = steps, .hop = kEndedHop});
  }
  end_rank(options_.rank, steps);
}

bool AsynchronousRanks::take_word(Rank from, const Message& message) {
  switch (message.key.hop) {
    case kEndedHop: end_rank(from, message.key.step); return true;
    case kWaitsHop:
      waits_.note_word();
      waits_.take(message);
      return true;
    case kGoesOnHop:
      waits_.note_word();
      waits_.note_other();
      return true;
    default: return false;
  }
}

}  // namespace casync::runtime
