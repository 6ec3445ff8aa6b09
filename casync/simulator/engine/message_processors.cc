// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/engine/message_processors.h"

#include "casync/simulator/engine/engine.h"

namespace casync::engine {

MessageProcessors::MessageProcessors(Engine& engine) : engine_(engine), ranks_(engine.tasks.ranks()) {}

void MessageProcessors::add(Rank rank, const MessageWork& work) {
  of(rank).waiting.push_back(work);
  engine_.processors.mark(rank);
}

void MessageProcessors::start(Rank rank) {
  OfRank& own = of(rank);
  const bool waits = engine_.processors.holds_messages(rank);
  if (!own.work.running() && !own.waiting.empty() && !waits) {
    own.began = engine_.clock.now();
    own.work.start(engine_.clock, rank, own.waiting.front().seconds * engine_.processors.slowness_of(rank),
                   rate_of(rank));
  }
  own.work.change_rate(engine_.clock, rank, rate_of(rank));
}

/// Training slows messages as much as it slows encoding.
double MessageProcessors::rate_of(Rank rank) const {
  return engine_.training_work.running(rank) ? 1 / engine_.scenario.profile.contention.encode : 1;
}

void MessageProcessors::end(Rank rank) {
  OfRank& own = of(rank);
  const MessageWork work = own.waiting.front();
  own.waiting.pop_front();
  own.work.stop();
  const double now = engine_.clock.now();
  engine_.record.add(rank, &StepParts::messages_s, now - own.began);
  engine_.record.add(rank, &StepParts::processor_s, work.seconds * engine_.processors.slowness_of(rank));
  engine_.processors.mark(rank);
  switch (work.kind) {
    case MessageWork::Kind::kSend: return engine_.network.part_left(work.first);
    case MessageWork::Kind::kReceive: return engine_.network.part_arrived(work.first, work.step);
    case MessageWork::Kind::kAnnounced:
      return engine_.clock.push(Event::Kind::kAnswered, now, work.first, static_cast<std::uint32_t>(work.step), rank,
                                engine_.tasks.rank_of(work.first),
                                engine_.routes.distance_of(engine_.tasks[work.first].peer_task));
    case MessageWork::Kind::kAnswered: return engine_.network.queue_send(work.first);
  }
}

}  // namespace casync::engine
