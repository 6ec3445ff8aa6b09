// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/answer_waits.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/executor/answering.h"
#include "runtime/executor/message_hops.h"

namespace casync::runtime {

void AnswerWaits::send(Rank to, const MessageKey& key, std::uint64_t elements) {
  ++words_;
  send_word(transport_, to, key, elements);
}

void AnswerWaits::say(Clock::time_point now) {
  if (now < said_ + options_.stall) return;
  said_ = now;
  const bool goes_on = std::exchange(begun_said_, begun_) != begun_;
  for (Rank rank = 0; rank < options_.ranks; ++rank) {
    if (goes_on && ended_.has_ended(rank) && rank != options_.rank) send(rank, {.hop = kGoesOnHop});
  }
  for (const GradientRun* const run : runs_) {
    if (!run->owner_side()) continue;
    const Answering& answering = *run->owner_side()->answering;
    answering.for_each_task([&](TaskId task) {
      const OwnedPartition& partition = answering.of(task);
      for (Rank rank = 0; rank < options_.ranks; ++rank) {
        const std::optional<AnswerBatches::Wait> wait = partition.batches().wait_of(rank);
        if (!wait || rank == options_.rank) continue;
        send(rank, {run->key, wait->step, partition.number(), kWaitsHop},
             std::uint64_t{wait->steps} << 32 | static_cast<std::uint32_t>(wait->slowest));
      }
    });
  }
}

void AnswerWaits::take(const Message& message) {
  const auto found = std::find_if(runs_.begin(), runs_.end(),
                                  [&](const GradientRun* run) { return run->key == message.key.gradient; });
  if (found == runs_.end() || !(*found)->step.is_under_way(message.key.step)) return;
  (*found)->asynchronous->note_wait({options_.rank, message.key.step, static_cast<Rank>(message.elements & 0x7fffffff),
                                     static_cast<std::uint32_t>(message.elements >> 32)});
}

std::string AnswerWaits::of(const GradientRun& run, Rank owner, std::uint32_t partition) const {
  if (owner != options_.rank) {
    const AnswerBatches::Wait* const said = run.asynchronous->waits_behind();
    return said != nullptr ? text_of(*said, partition) : "";
  }
  const Answering& answering = *run.owner_side()->answering;
  const auto wait = answering.of(*answering.find(partition)).batches().wait_of(owner);
  return wait ? text_of(*wait, partition) : "";
}

}  // namespace casync::runtime
