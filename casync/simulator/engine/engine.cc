// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/engine/engine.h"

#include <utility>

namespace casync::engine {

Engine::Engine(const Scenario& from, const SimulationOptions& with, const FlatTasks& flat, Drift apart)
    : scenario(from),
      options(with),
      drift(std::move(apart)),
      tasks(scenario, flat, drift),
      routes(scenario, tasks),
      clock(tasks.ranks()),
      record(options, tasks),
      progress(*this),
      training_work(clock, tasks.ranks()),
      processors(*this),
      messages(*this),
      copies(*this),
      network(*this),
      training(*this),
      drifting(*this) {}

Result<Simulation> Engine::run() {
  training.begin();
  do {
    while (clock.has_event_now()) happen(clock.pop());
    dispatch();
  } while (clock.go_on());
  CASYNC_RETURN_IF_ERROR(training.all_done() ? Status::ok() : progress.who_waits());
  return result();
}

void Engine::happen(const Event& event) {
  const auto rank = static_cast<Rank>(event.subject);
  const auto step = static_cast<int>(event.version);
  switch (event.kind) {
    case Event::Kind::kTraining:
      if (training_work.ends_with(event)) training.pass(rank);
      break;
    case Event::Kind::kCodec:
      if (processors.ends_codec(event)) processors.end_codec(rank);
      break;
    case Event::Kind::kPortFree: network.part_left(event.subject); break;
    case Event::Kind::kHead: network.head_arrives(event.subject, event.version); break;
    case Event::Kind::kArrived: network.part_arrived(event.subject, step); break;
    case Event::Kind::kMessages:
      if (messages.ends(event)) messages.end(rank);
      break;
    case Event::Kind::kUpload:
      if (copies.ends_upload(event)) processors.queue(copies.end_upload(rank));
      break;
    case Event::Kind::kDownload:
      if (copies.ends_download(event)) progress.complete(copies.end_download(rank));
      break;
    case Event::Kind::kCredit: network.give_back_credit(event.subject); break;
    case Event::Kind::kAnnounced:
      messages.add(tasks.receiver_of(event.subject), {event.subject, step, MessageWork::Kind::kAnnounced, 0});
      break;
    case Event::Kind::kAnswered:
      messages.add(tasks.rank_of(event.subject), {event.subject, step, MessageWork::Kind::kAnswered, 0});
      break;
  }
}

/// Starts messages last: messages from tasks that take no time can then join them.
void Engine::dispatch() {
  processors.go_on();
  if (clock.has_event_now()) return;
  network.start_all();
  processors.start_all();  // with what messages that leave ask of processors
}

Simulation Engine::result() {
  const double steps = options.steps;
  const std::optional<std::uint64_t> ended = drifting.steps_ended();
  const double shares = ended ? static_cast<double>(*ended) : steps * static_cast<double>(tasks.ranks());
  Simulation simulation = record.means(steps, shares);
  drifting.add_paces(simulation);
  return simulation;
}

}  // namespace casync::engine
