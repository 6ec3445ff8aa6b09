// SPDX-License-Identifier: Apache-2.0
//
// The loop, and tasks of any kind.
#include "casync/simulator/engine.h"

#include <algorithm>
#include <string>
#include <utility>

namespace casync {
namespace {

// Bits of an event's order, below the wave it was pushed in: its number there among its pusher's, and the distance.
constexpr int kNumberBits = 12, kDistanceBits = 16;

constexpr const char* kVerbs[] = {"instant", "encode", "merge", "decode", "send", "recv"};

SimulatedKind kind_of(TaskVerb verb) {
  switch (verb) {
    case TaskVerb::kEncode: return SimulatedKind::kEncode;
    case TaskVerb::kMerge: return SimulatedKind::kMerge;
    case TaskVerb::kDecode: return SimulatedKind::kDecode;
    case TaskVerb::kSend: return SimulatedKind::kSend;
    default: return SimulatedKind::kRecv;
  }
}

/// By gradient: the seconds of each of its tasks besides the work. Ranks that drift apart have no bundles, nor do those
/// whose messages never travel together.
std::vector<double> task_costs(const Scenario& scenario) {
  const Profile& profile = scenario.profile;
  std::vector<double> costs(scenario.training.gradients.size(), profile.task_s);
  if (scenario.fusion_bytes == 0 || scenario.mode.is_gossip() || scenario.mode.is_asynchronous()) return costs;
  for (std::size_t g = 0; g < costs.size(); ++g) {
    const GradientSpec& spec = scenario.training.gradients[g].spec;
    costs[g] = task_seconds(profile, scenario.decisions[g], spec.dtype, spec.elements());
  }
  return costs;
}

}  // namespace

Engine::Engine(const Scenario& scenario, const SimulationOptions& options, const FlatTasks& flat, Drift drift)
    : scenario_(scenario),
      options_(options),
      flat_(flat),
      tasks_(flat.tasks()),
      drift_(std::move(drift)),
      gradients_(static_cast<std::uint32_t>(scenario.training.gradients.size())),
      slots_(flat.gradients()),
      tasks_s_(task_costs(scenario)),
      milestones_(milestones()),
      ranks_(static_cast<std::size_t>(flat.symmetry().period)),
      runs_(ranks_.size() * slots_),
      ports_(2 * ranks_.size()),
      waits_for_(tasks_.size()),
      fused_with_(tasks_.size(), kNoTask),
      since_(tasks_.size()),
      queued_as_(tasks_.size()),
      times_(gradients_) {
  const SyncMode& mode = scenario.mode;
  if (drifts(scenario, options)) {
    if (mode.staleness > 1) late_.emplace(ranks_.size(), gradients_, mode.staleness);
    if (!mode.is_asynchronous()) under_way_.resize(tasks_.size());
    steps_.emplace(ranks_.size(), options.steps, mode.is_asynchronous());
    for (std::size_t rank = 0; rank < drift_.contributes.size(); ++rank) {
      if (!drift_.contributes[rank]) steps_->contributes_nothing(static_cast<Rank>(rank));
    }
  }
  if (scenario.credit_bytes > 0) credit_.resize(2 * tasks_.size());
  for (const Link* link : {&scenario.profile.inside, &scenario.profile.between}) {
    if (link->send_work.empty() && link->receive_work.empty()) continue;
    to_leave_.resize(tasks_.size());
    to_arrive_.resize(tasks_.size());
  }
}

Result<Simulation> Engine::run() {
  for (Rank rank = 0; rank < flat_.symmetry().period; ++rank) begin_step(rank);
  while (true) {
    while (!events_.empty() && events_.next_time() == now_) {
      const Event event = events_.pop();
      wave_ = std::max(wave_, (event.order >> (kNumberBits + kDistanceBits)) + 1);
      happen(event);
    }
    dispatch();
    if (events_.empty()) break;
    now_ = events_.next_time();
  }
  CASYNC_RETURN_IF_ERROR(all_done());
  return result();
}

void Engine::happen(const Event& event) {
  const auto rank = static_cast<Rank>(event.subject);
  switch (event.kind) {
    case Event::Kind::kTraining:
      if (event.version == state(rank).training.version) pass(rank);
      break;
    case Event::Kind::kCodec:
      if (event.version == state(rank).codec.version) end_codec(rank);
      break;
    case Event::Kind::kPortFree: part_left(event.subject); break;
    case Event::Kind::kHead: head_arrives(event.subject, event.version); break;
    case Event::Kind::kArrived: part_arrived(event.subject, static_cast<int>(event.version)); break;
    case Event::Kind::kMessages:
      if (event.version == state(rank).messages.version) end_messages(rank);
      break;
    case Event::Kind::kUpload:
      if (event.version == state(rank).uploads.work.version) {
        state(rank).ready.push(urgent(end_copy(rank, state(rank).uploads, &FlatTask::upload_s)));
      }
      break;
    case Event::Kind::kDownload:
      if (event.version == state(rank).downloads.work.version) {
        complete(end_copy(rank, state(rank).downloads, &FlatTask::download_s));
      }
      break;
    case Event::Kind::kCredit: give_back_credit(event.subject, static_cast<int>(event.version)); break;
    case Event::Kind::kAnnounced:
      add_work(receiver_of(event.subject),
               {event.subject, static_cast<int>(event.version), MessageWork::Kind::kAnnounced, 0});
      break;
    case Event::Kind::kAnswered:
      add_work(rank_of(event.subject),
               {event.subject, static_cast<int>(event.version), MessageWork::Kind::kAnswered, 0});
      break;
  }
}

/// Pushes an event for `rank`, caused by `pusher`, which is `distance` ranks earlier.
void Engine::push(Event::Kind kind, double time, std::uint32_t subject, std::uint32_t version, Rank pusher, Rank rank,
                  int distance) {
  RankState& own = state(pusher);
  if (own.pushed_in != wave_) own.pushed_in = wave_, own.pushed = 0;
  const std::uint64_t number = std::min(own.pushed++, (std::uint64_t{1} << kNumberBits) - 1);
  const std::uint64_t order = (wave_ << kNumberBits | number) << kDistanceBits | static_cast<std::uint64_t>(distance);
  events_.push({time, order, subject, version, rank, kind});
}

void Engine::start_ranks() {
  ++wave_;
  marked_ranks_.swap(dirty_ranks_);
  for (const Rank rank : marked_ranks_) {
    RankState& own = state(rank);
    own.dirty = false;
    start_copy(rank, own.uploads, Event::Kind::kUpload, &FlatTask::upload_s);
    start_codec(rank);
    start_copy(rank, own.downloads, Event::Kind::kDownload, &FlatTask::download_s);
  }
  marked_ranks_.clear();
}

/// Starts messages last: messages from tasks that take no time can then join them.
void Engine::dispatch() {
  start_ranks();
  if (!events_.empty() && events_.next_time() == now_) return;
  ++wave_;
  marked_ports_.swap(dirty_ports_);
  for (const std::size_t port : marked_ports_) {
    ports_[port].dirty = false;
    start_sending(port);
  }
  marked_ports_.clear();
  start_ranks();  // with what messages that leave ask of processors
}

void Engine::start(Work& work, double seconds, double rate, Event::Kind kind, Rank rank) {
  work = {seconds, rate, now_, true, work.version + 1};
  push(kind, now_ + seconds / rate, static_cast<std::uint32_t>(rank), work.version, rank, rank);
}

void Engine::change_rate(Work& work, double rate, Event::Kind kind, Rank rank) {
  if (!work.running || work.rate == rate) return;
  start(work, std::max(0.0, work.left - (now_ - work.since) * work.rate), rate, kind, rank);
}

void Engine::mark(Rank rank) {
  if (!std::exchange(state(rank).dirty, true)) dirty_ranks_.push_back(rank);
}

UrgentTask Engine::urgent(std::uint32_t task) {
  return {scenario_.decisions[gradient_of(task)].priority, tasks_[task].hop, arrivals_++, task};
}

double Engine::slowness_of(Rank rank) const {
  return options_.slowness.empty() ? 1 : options_.slowness[static_cast<std::size_t>(rank)];
}

/// Also sets the rates at which training and messages go on meanwhile: another codec task may follow at once. With one
/// processor one thread does both: messages go first when a task is over.
void Engine::start_codec(Rank rank) {
  RankState& own = state(rank);
  const bool one_thread = scenario_.profile.processors == 1;
  if (one_thread) start_messages(rank);
  if (!own.codec.running && !own.ready.empty() && !(one_thread && own.messages.running)) {
    const UrgentTask next = own.ready.pop();
    own.codec_task = next.task;
    own.codec_began = now_;
    start(own.codec, seconds_of(own, next) * slowness_of(rank), codec_rate(rank, tasks_[next.task].verb),
          Event::Kind::kCodec, rank);
  }
  if (!one_thread) start_messages(rank);
  if (own.codec.running) {
    change_rate(own.codec, codec_rate(rank, tasks_[own.codec_task].verb), Event::Kind::kCodec, rank);
  }
  change_rate(own.training, training_rate(rank), Event::Kind::kTraining, rank);
}

/// The seconds of a codec task that begins now.
double Engine::seconds_of(RankState& own, const UrgentTask& next) const {
  const FlatTask& task = tasks_[next.task];
  const double seconds = task_s(next.task) + work_s(next.task);
  if (task.shared_s <= 0) return seconds;
  const bool shares =
      own.kernels.takes(task.codec, static_cast<std::uint8_t>(task.verb), next.arrival, arrivals_, now_);
  return shares ? seconds - static_cast<double>(task.shared_s) : seconds;
}

/// The rate of a codec task, slowed by the rank's training if that runs. A task's fixed cost counts as encoding.
double Engine::codec_rate(Rank rank, TaskVerb verb) const {
  const RankState& own = ranks_[static_cast<std::size_t>(rank)];
  if (!own.training.running) return 1;
  const Contention& contention = scenario_.profile.contention;
  switch (verb) {
    case TaskVerb::kMerge: return 1 / contention.merge;
    case TaskVerb::kDecode: return 1 / contention.decode;
    default: return 1 / contention.encode;
  }
}

/// The rate of messages' processor time. Training slows it as much as it slows encoding.
double Engine::messages_rate(Rank rank) const {
  const RankState& own = ranks_[static_cast<std::size_t>(rank)];
  return own.training.running ? 1 / scenario_.profile.contention.encode : 1;
}

/// Codecs and messages together slow training as much as either does: with one processor they take turns, with more of
/// them training waits for its thread that is slowed most.
double Engine::training_rate(Rank rank) const {
  const RankState& own = ranks_[static_cast<std::size_t>(rank)];
  return own.codec.running || own.messages.running ? 1 / scenario_.profile.contention.training : 1;
}

void Engine::end_codec(Rank rank) {
  RankState& own = state(rank);
  own.codec.running = false;
  own.kernels.ended = now_;
  const std::uint32_t task = std::exchange(own.codec_task, kNoTask);
  const double took = now_ - own.codec_began, task_s = this->task_s(task);
  const double task_part = task_s > 0 ? took * task_s / (task_s + work_s(task)) : 0;
  own.sums.tasks_s += task_part;
  own.sums.processor_s += task_s * slowness_of(rank);
  CodecWork& work = times_[gradient_of(task)].work;
  const auto worked = [&](double& sum, double& of_gradient) {
    sum += took - task_part;
    of_gradient += took - task_part;
    keep_span(task, own.codec_began);
  };
  mark(rank);
  switch (tasks_[task].verb) {
    case TaskVerb::kSend: return add_send(task);
    case TaskVerb::kEncode: worked(own.sums.encode_s, work.encode_s); break;
    case TaskVerb::kMerge: worked(own.sums.merge_s, work.merge_s); break;
    case TaskVerb::kDecode: worked(own.sums.decode_s, work.decode_s); break;
    case TaskVerb::kInstant:
    case TaskVerb::kRecv: break;
  }
  if (tasks_[task].download_s > 0) return own.downloads.ready.push(urgent(task));
  complete(task);
}

/// A device's copies wait for nothing but each other.
void Engine::start_copy(Rank rank, Copies& copies, Event::Kind kind, float FlatTask::*seconds) {
  if (copies.work.running || copies.ready.empty()) return;
  copies.task = copies.ready.pop().task;
  start(copies.work, static_cast<double>(tasks_[copies.task].*seconds), 1, kind, rank);
}

/// Returns the task that is copied.
std::uint32_t Engine::end_copy(Rank rank, Copies& copies, float FlatTask::*seconds) {
  copies.work.running = false;
  state(rank).sums.copies_s += static_cast<double>(tasks_[copies.task].*seconds);
  mark(rank);
  return std::exchange(copies.task, kNoTask);
}

/// If tasks have a cost of their own, each goes through the codec, and a message afterwards to its port.
void Engine::make_ready(std::uint32_t task) {
  switch (task_s(task) > 0 ? TaskVerb::kEncode : tasks_[task].verb) {
    case TaskVerb::kInstant:
    case TaskVerb::kRecv: done_.push_back(task); break;
    case TaskVerb::kSend: add_send(task); break;
    default: {
      RankState& own = state(rank_of(task));
      (tasks_[task].upload_s > 0 ? own.uploads.ready : own.ready).push(urgent(task));
      mark(rank_of(task));
    }
  }
}

/// Completes a task and all that end with it, without nesting: chains of instant tasks may be long.
void Engine::complete(std::uint32_t task) {
  done_.push_back(task);
  while (!done_.empty()) {
    const std::uint32_t over = done_.back();
    done_.pop_back();
    if (is_side(over)) {
      side_over(over);
      continue;
    }
    for (const std::uint32_t next : flat_.successors(over)) {
      if (--waits_for_[next] == 0) make_ready(next);
    }
    if (--runs_[tasks_[over].run].tasks_left == 0) finish_run(tasks_[over].run);
  }
}

void Engine::finish_run(std::uint32_t run) {
  const auto rank = static_cast<Rank>(run / slots_);
  RunState& own = runs_[run];
  own.active = false;
  times_[run % slots_ % gradients_].sync_s += now_ - own.ready_at;
  if (late_) finish_late(rank);
  RankState& there = state(rank);
  if (!there.blocked) return;
  const std::uint32_t missed = milestones_[there.milestone].gradient;
  if (is_missing(rank, missed)) return;
  there.blocked = false;
  there.sums.waiting_s += now_ - there.blocked_since;
  times_[missed].waiting_s += now_ - there.blocked_since;
  start(there.training, 0, 1, Event::Kind::kTraining, rank);
  mark(rank);
}

void Engine::keep_span(std::uint32_t task, double from) {
  if (!options_.spans) return;
  const FlatTask& flat = tasks_[task];
  spans_.push_back({kind_of(flat.verb), rank_of(task), runs_[flat.run].step, gradient_of(task), flat.partition,
                    flat.message_hop, flat.peer, flat.bytes, from, now_});
}

Status Engine::all_done() const {
  if (ranks_done_ == flat_.symmetry().period) return Status::ok();
  for (std::uint32_t task = 0; task < tasks_.size(); ++task) {
    if (!runs_[tasks_[task].run].active || waits_for_[task] <= 0) continue;
    return internal_error("rank " + std::to_string(rank_of(task)) + ", gradient " +
                          scenario_.training.gradients[gradient_of(task)].spec.name + ", partition " +
                          std::to_string(tasks_[task].partition) + ": its " +
                          kVerbs[static_cast<std::size_t>(tasks_[task].verb)] + " can never run");
  }
  return internal_error("a rank did not come to the end of its step");
}

Simulation Engine::result() {
  const double steps = options_.steps;
  const double shares = steps_ ? static_cast<double>(steps_->all_ended()) : steps * static_cast<double>(ranks_.size());
  Simulation simulation;
  simulation.step_s = ended_ / steps;
  simulation.gradients = std::move(times_);
  simulation.spans = std::move(spans_);
  for (const RankState& rank : ranks_) {
    simulation.parts.training_s += rank.sums.training_s / shares;
    simulation.parts.encode_s += rank.sums.encode_s / shares;
    simulation.parts.merge_s += rank.sums.merge_s / shares;
    simulation.parts.decode_s += rank.sums.decode_s / shares;
    simulation.parts.copies_s += rank.sums.copies_s / shares;
    simulation.parts.tasks_s += rank.sums.tasks_s / shares;
    simulation.parts.wire_s += rank.sums.wire_s / shares;
    simulation.parts.messages_s += rank.sums.messages_s / shares;
    simulation.parts.processor_s += rank.sums.processor_s / shares;
    simulation.parts.waiting_s += rank.sums.waiting_s / shares;
    simulation.parts.exposed_s += rank.sums.exposed_s / shares;
  }
  for (GradientTimes& times : simulation.gradients) {
    times.sync_s /= shares;
    times.waiting_s /= shares;
    for (double* part : {&times.work.encode_s, &times.work.merge_s, &times.work.decode_s}) *part /= shares;
  }
  simulation.wire_bytes_per_rank = bytes_sent_ / shares;
  simulation.messages_per_rank = static_cast<double>(messages_) / shares;
  const Symmetry& symmetry = flat_.symmetry();
  simulation.by = symmetry.is_trivial() ? SimulatedBy::kAllRanks : SimulatedBy::kSymmetricRanks;
  simulation.tasks = tasks_.size() * static_cast<std::size_t>(symmetry.ranks / symmetry.period);
  add_paces(simulation);
  return simulation;
}

}  // namespace casync
