// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/engine/processors.h"

#include <utility>

#include "casync/simulator/engine/engine.h"

namespace casync::engine {

Processors::Processors(Engine& engine)
    : engine_(engine), one_thread_(engine.scenario.profile.processors == 1), ranks_(engine.tasks.ranks()) {}

void Processors::mark(Rank rank) {
  if (!std::exchange(of(rank).marked, true)) marked_.push_back(rank);
}

void Processors::start_marked(bool may_begin_turn) {
  engine_.clock.begin_wave();
  starting_.swap(marked_);
  for (const Rank rank : starting_) {
    of(rank).marked = false;
    engine_.copies.start_upload(rank);
    start_codec(rank, may_begin_turn);
    engine_.copies.start_download(rank);
  }
  starting_.clear();
}

void Processors::queue(std::uint32_t task) {
  of(engine_.tasks.rank_of(task)).ready.push(engine_.progress.urgent(task));
}

double Processors::slowness_of(Rank rank) const {
  const std::vector<double>& slowness = engine_.options.slowness;
  return slowness.empty() ? 1 : slowness[static_cast<std::size_t>(rank)];
}

/// Returns true if a codec task that is ready can begin. Begins its turn.
bool Processors::may_start(Rank rank, bool may_begin_turn) {
  OfRank& own = of(rank);
  if (own.codec.running() || own.ready.empty()) return false;
  if (!one_thread_) return true;
  if (engine_.messages.is_busy(rank)) return false;
  if (own.turns.goes_on(engine_.clock.now())) return true;
  if (own.turns.leaves_messages() && !may_begin_turn) {
    mark(rank);
    return false;
  }
  engine_.messages.start(rank);
  if (engine_.messages.is_busy(rank)) return false;
  own.turns.begin(engine_.clock.now());
  return true;
}

/// Also sets the rates at which training and messages go on meanwhile: another codec task may follow at once.
void Processors::start_codec(Rank rank, bool may_begin_turn) {
  OfRank& own = of(rank);
  if (may_start(rank, may_begin_turn)) {
    const UrgentTask next = own.ready.pop();
    own.task = next.task;
    own.began = engine_.clock.now();
    own.codec.start(engine_.clock, rank, seconds_of(own, next) * slowness_of(rank),
                    codec_rate(rank, engine_.tasks[next.task].verb));
  }
  engine_.messages.start(rank);
  if (own.codec.running()) {
    own.codec.change_rate(engine_.clock, rank, codec_rate(rank, engine_.tasks[own.task].verb));
  }
  engine_.training_work.change_rate(rank, training_rate(rank));
}

/// The seconds of a codec task that begins now.
double Processors::seconds_of(OfRank& own, const UrgentTask& next) const {
  const FlatTask& task = engine_.tasks[next.task];
  const double seconds = engine_.tasks.task_s(next.task) + engine_.tasks.work_s(next.task);
  if (task.shared_s <= 0) return seconds;
  const bool shares = own.kernels.takes(task.codec, static_cast<std::uint8_t>(task.verb), next.arrival,
                                        engine_.progress.arrivals(), engine_.clock.now());
  return shares ? seconds - static_cast<double>(task.shared_s) : seconds;
}

/// The rate of a codec task, slowed by the rank's training if that runs. A task's fixed cost counts as encoding.
double Processors::codec_rate(Rank rank, TaskVerb verb) const {
  if (!engine_.training_work.running(rank)) return 1;
  const Contention& contention = engine_.scenario.profile.contention;
  switch (verb) {
    case TaskVerb::kMerge: return 1 / contention.merge;
    case TaskVerb::kDecode: return 1 / contention.decode;
    default: return 1 / contention.encode;
  }
}

/// Codecs and messages together slow training as much as either does: with one processor they take turns, with more of
/// them training waits for its thread that is slowed most.
double Processors::training_rate(Rank rank) const {
  return is_coding(rank) || engine_.messages.is_busy(rank) ? 1 / engine_.scenario.profile.contention.training : 1;
}

void Processors::end_codec(Rank rank) {
  OfRank& own = of(rank);
  const double now = engine_.clock.now();
  own.codec.stop();
  own.kernels.ended = now;
  if (one_thread_) {
    own.turns.end_task();
    engine_.network.release(rank);
  }
  const std::uint32_t task = std::exchange(own.task, kNoTask);
  const double took = now - own.began, task_s = engine_.tasks.task_s(task);
  const double task_part = task_s > 0 ? took * task_s / (task_s + engine_.tasks.work_s(task)) : 0;
  engine_.record.add(rank, &StepParts::tasks_s, task_part);
  engine_.record.add(rank, &StepParts::processor_s, task_s * slowness_of(rank));
  mark(rank);
  switch (engine_.tasks[task].verb) {
    case TaskVerb::kSend: return engine_.network.add_send(task);
    case TaskVerb::kEncode:
    case TaskVerb::kMerge:
    case TaskVerb::kDecode:
      engine_.record.add_work(rank, task, took - task_part);
      engine_.progress.keep_span(task, own.began);
      break;
    case TaskVerb::kInstant:
    case TaskVerb::kRecv: break;
  }
  if (engine_.tasks[task].download_s > 0) return engine_.copies.queue_download(task);
  engine_.progress.complete(task);
}

}  // namespace casync::engine
