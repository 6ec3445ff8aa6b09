// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/one_rank.h"

#include <string>
#include <utility>
#include <vector>

#include "casync/simulator/checks.h"
#include "casync/simulator/rounds.h"
#include "casync/simulator/sync_mode.h"

namespace casync {

OneRank::OneRank(const Training& trained, const Profile& costs)
    : profile(costs), training(*this, trained), trained_(trained) {
  for (const Link* link : {&profile.inside, &profile.between}) {
    messages_work_ = messages_work_ || !link->send_work.empty() || !link->receive_work.empty();
  }
}

double OneRank::step_seconds(std::span<const Outline* const> outlines, std::span<const int> priorities,
                             Bytes fusion_bytes) {
  clock = {};
  record.reset(trained_.gradients.size());
  stages.reset(outlines, priorities);
  training.reset();
  codec.reset();
  messages.reset();
  ports.reset(fusion_bytes);
  training.go_on();
  while (clock.go_on()) {
    // Handles all events of one moment ahead of anything that begins, as in engine::Engine.
    while (clock.has_event_now()) happen(clock.pop());
    codec.go_on();
    if (clock.has_event_now()) continue;
    ports.start(false);
    ports.start(true);
    codec.start();  // with what messages that leave ask of processors
  }
  return record.step_s();
}

Simulation OneRank::run(std::span<const Outline* const> outlines, std::span<const int> priorities, Bytes fusion_bytes) {
  step_seconds(outlines, priorities, fusion_bytes);
  return record.take(trained_.backward_s + trained_.forward_s, stages.size());
}

void OneRank::happen(const Event& event) {
  switch (event.kind) {
    case Event::Kind::kTraining: training.pass(event); break;
    case Event::Kind::kCodec: codec.end(event); break;
    case Event::Kind::kMessages: messages.end(event); break;
    case Event::Kind::kHead: messages.head_arrives(event.subject); break;
    case Event::Kind::kPortFree:
      if (messages_work_) {
        messages.part_left(event.subject);
      } else {
        ports.free(event.subject != 0);
      }
      break;
    case Event::Kind::kArrived:
      if (event.version == one_rank::Messages::kPartOfMessage) {
        messages.part_arrived(event.subject);
      } else {
        stages.over(event.subject);
      }
      break;
    case Event::Kind::kAnnounced:
    case Event::Kind::kCredit:
    case Event::Kind::kUpload:
    case Event::Kind::kDownload:
    case Event::Kind::kAnswered:
      break;  // of the engine: ranks answer at once after a task, and copies are codecs' work
  }
}

Result<Simulation> simulate_one_rank(const Scenario& scenario, const SimulationOptions& options) {
  CASYNC_RETURN_IF_ERROR(check_scenario(scenario, options));
  const auto refuse = [](const char* why) {
    return invalid_argument(std::string("one rank cannot stand for all: ") + why);
  };
  if (!alike(scenario.topology)) return refuse("nodes have different numbers of ranks");
  if (scenario.mode.is_gossip() || scenario.mode.is_asynchronous()) return refuse("ranks drift apart");
  if (scenario.credit_bytes > 0) return refuse("its messages go in lumps, which no credit counts");
  if (options.spans || options.jitter > 0 || !options.slowness.empty() || !scenario.training.is_alike()) {
    return refuse("ranks are to differ, or spans of all are asked for");
  }
  const AlikeRanks ranks = alike_ranks(scenario.topology);
  std::vector<Outline> outlines;
  std::vector<int> priorities;
  for (std::size_t g = 0; g < scenario.decisions.size(); ++g) {
    const GradientSpec& spec = scenario.training.gradients[g].spec;
    const Decision& decision = scenario.decisions[g];
    Result<Outline> made = outline_of(decision, spec, ranks, scenario.profile, scenario.facts_of);
    if (!made) return Status(made.status().code(), "gradient " + spec.name + ": " + made.status().message());
    outlines.push_back(std::move(*made));
    priorities.push_back(decision.priority);
  }
  std::vector<const Outline*> borrowed;
  for (const Outline& outline : outlines) borrowed.push_back(&outline);
  const Exchanges exchanges = exchanges_of(scenario.training, scenario.mode);
  OneRank rank(exchanges.training, scenario.profile);
  return mean_of_steps(rank.run(borrowed, priorities, scenario.fusion_bytes), exchanges.steps);
}

}  // namespace casync
