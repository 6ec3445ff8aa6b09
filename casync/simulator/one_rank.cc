// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/one_rank.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "casync/graph/fuse.h"
#include "casync/simulator/checks.h"
#include "casync/simulator/rounds.h"
#include "casync/simulator/sync_mode.h"

namespace casync {
namespace {

constexpr std::uint32_t kPartOfMessage = 1;  // of kArrived: its subject is a message, not an item

enum MilestoneKind { kReady, kBackwardEnd, kNeed, kStepEnd };

double& part_of(StepParts& parts, Stage::Kind kind) {
  switch (kind) {
    case Stage::Kind::kEncode: return parts.encode_s;
    case Stage::Kind::kMerge: return parts.merge_s;
    case Stage::Kind::kDecode: return parts.decode_s;
    case Stage::Kind::kTasks: return parts.tasks_s;
    case Stage::Kind::kSend: break;
  }
  return parts.wire_s;
}

/// The rate of a codec's stage while training runs: as Engine::codec_rate.
double slowed(const Contention& contention, Stage::Kind kind) {
  switch (kind) {
    case Stage::Kind::kMerge: return 1 / contention.merge;
    case Stage::Kind::kDecode: return 1 / contention.decode;
    default: return 1 / contention.encode;
  }
}

}  // namespace

OneRank::OneRank(const Training& training, const Profile& profile) : training_(training), profile_(profile) {
  for (const Link* link : {&profile.inside, &profile.between}) {
    messages_work_ = messages_work_ || !link->send_work.empty() || !link->receive_work.empty();
  }
  for (std::uint32_t g = 0; g < training.gradients.size(); ++g) {
    milestones_.push_back({training.gradients[g].ready_s, kReady, g});
    milestones_.push_back({training.backward_s + training.gradients[g].need_s, kNeed, g});
  }
  milestones_.push_back({training.backward_s, kBackwardEnd, 0});
  milestones_.push_back({training.backward_s + training.forward_s, kStepEnd, 0});
  std::stable_sort(milestones_.begin(), milestones_.end(), [](const Milestone& a, const Milestone& b) {
    return std::tie(a.position, a.kind) < std::tie(b.position, b.kind);
  });
}

void OneRank::reset() {
  const std::size_t gradients = training_.gradients.size();
  now_ = 0;
  arrivals_ = 1;
  events_ = {};
  at_training_ = at_codec_ = at_messages_ = {};
  message_work_.clear();
  messages_.clear();
  milestone_ = 0;
  blocked_ = false;
  codec_ready_ = {}, kernels_ = {};
  ports_[0] = ports_[1] = {};
  items_.clear();
  left_.assign(gradients, 0);
  active_.assign(gradients, 0);
  gathered_from_.assign(gradients, 0);
  std::uint32_t places = 0;
  for (std::size_t g = 0; g < gradients; ++g) {
    const Outline& outline = *outlines_[g];
    gathered_from_[g] = places;
    places += static_cast<std::uint32_t>(outline.rounds) * static_cast<std::uint32_t>(outline.stages.size());
    for (std::size_t s = 0; s < outline.stages.size(); ++s) {
      const Stage& stage = outline.stages[s];
      if (!stage.aside && s + 1 < outline.stages.size()) continue;
      left_[g] += static_cast<std::uint32_t>(outline.rounds * (stage.gathers ? 1 : outline.lumps));
    }
  }
  gathered_.assign(places, 0);
  made_ = {};
  made_.gradients.resize(gradients);
}

double OneRank::step_seconds(std::span<const Outline* const> outlines, std::span<const int> priorities,
                             Bytes fusion_bytes) {
  outlines_ = outlines;
  priorities_ = priorities;
  fusion_bytes_ = fusion_bytes;
  reset();
  go_on();
  while (!events_.empty()) {
    now_ = events_.next_time();
    // Handles all events of one moment before anything begins, as in Engine.
    while (!events_.empty() && events_.next_time() == now_) happen(events_.pop());
    start_codec();
    if (!events_.empty() && events_.next_time() == now_) continue;
    start_sending(false);
    start_sending(true);
    if (messages_work_) start_codec();  // with what messages that leave ask of processors
  }
  return made_.step_s;
}

Simulation OneRank::run(std::span<const Outline* const> outlines, std::span<const int> priorities, Bytes fusion_bytes) {
  step_seconds(outlines, priorities, fusion_bytes);
  made_.parts.training_s = training_.backward_s + training_.forward_s;
  made_.parts.exposed_s = made_.step_s - made_.parts.training_s;
  made_.tasks = items_.size();
  made_.by = SimulatedBy::kOneRank;
  return std::move(made_);
}

void OneRank::happen(const Event& event) {
  switch (event.kind) {
    case Event::Kind::kTraining:
      if (event.version == at_training_.version) training_comes_by();
      break;
    case Event::Kind::kCodec: {
      if (event.version != at_codec_.version) break;
      at_codec_.running = false;
      kernels_.ended = now_;
      const Stage& stage = stage_of(codec_item_);
      const double took = now_ - codec_began_;
      const double task_part = stage.tasks_s > 0 ? took * stage.tasks_s / stage.seconds : 0;
      made_.parts.tasks_s += task_part;
      made_.parts.processor_s += stage.tasks_s;
      part_of(made_.parts, stage.kind) += took - task_part;
      if (stage.then_s > 0) {
        events_.push(now_ + stage.then_s, Event::Kind::kArrived, codec_item_);
      } else {
        over(items_[codec_item_]);
      }
      break;
    }
    case Event::Kind::kPortFree:
      if (messages_work_) {
        part_left(event.subject);
      } else {
        ports_[event.subject].sending = false;
      }
      break;
    case Event::Kind::kHead:
      message_work_.push_back({event.subject, false, messages_[event.subject].receive_work_s});
      break;
    case Event::Kind::kMessages: {
      if (event.version != at_messages_.version) break;
      const MessageWork work = message_work_.front();
      message_work_.pop_front();
      at_messages_.running = false;
      made_.parts.messages_s += now_ - messages_began_;
      made_.parts.processor_s += work.seconds;
      if (work.sending) {
        part_left(work.first);
      } else {
        part_arrived(work.first);
      }
      break;
    }
    case Event::Kind::kArrived:
      if (event.version == kPartOfMessage) {
        part_arrived(event.subject);
      } else {
        over(Item(items_[event.subject]));
      }
      break;
    case Event::Kind::kAnnounced:
    case Event::Kind::kCredit:
    case Event::Kind::kUpload:
    case Event::Kind::kDownload:
    case Event::Kind::kAnswered: break;  // of Engine: ranks answer at once after a task, and copies are codecs' work
  }
}

void OneRank::start(Work& work, double seconds, double rate, Event::Kind kind) {
  work = {seconds, rate, now_, true, work.version + 1};
  events_.push(now_ + seconds / rate, kind, 0, work.version);
}

void OneRank::change_rate(Work& work, double rate, Event::Kind kind) {
  if (!work.running || work.rate == rate) return;
  start(work, std::max(0.0, work.left - (now_ - work.since) * work.rate), rate, kind);
}

void OneRank::go_on() {
  const double from = milestone_ == 0 ? 0 : milestones_[milestone_ - 1].position;
  start(at_training_, milestones_[milestone_].position - from, training_rate(), Event::Kind::kTraining);
}

void OneRank::training_comes_by() {
  const Milestone& here = milestones_[milestone_];
  at_training_.running = false;
  if (here.kind == kReady) begin(here.gradient);
  if (here.kind == kNeed && active_[here.gradient] != 0) {
    blocked_ = true;
    blocked_since_ = now_;
    return;
  }
  if (here.kind == kStepEnd) {
    made_.step_s = now_;
    return;
  }
  ++milestone_;
  go_on();
}

void OneRank::begin(std::uint32_t gradient) {
  const Outline& outline = *outlines_[gradient];
  active_[gradient] = 1;
  made_.gradients[gradient].sync_s = -now_;
  if (outline.stages.empty()) return finish(gradient);
  for (int round = 0; round < outline.rounds; ++round) {
    const int items = outline.stages.front().gathers ? 1 : outline.lumps;
    for (int i = 0; i < items; ++i) enter(gradient, 0, static_cast<std::uint16_t>(round));
  }
}

/// Called when one item of the previous stage has come through, or the gradient begins.
void OneRank::enter(std::uint32_t gradient, std::size_t at, std::uint16_t round) {
  const Outline& outline = *outlines_[gradient];
  for (;; ++at) {
    const Stage& stage = outline.stages[at];
    const bool one_before = at == 0 || outline.stages[at - 1].gathers;
    int items = 1;
    if (stage.gathers && !one_before) {
      std::uint32_t& gathered = gathered_[gathered_from_[gradient] + round * outline.stages.size() + at];
      if (++gathered < static_cast<std::uint32_t>(outline.lumps)) return;
    } else if (!stage.gathers && at > 0 && one_before) {
      items = outline.lumps;
    }
    for (int i = 0; i < items; ++i) {
      const auto item = static_cast<std::uint32_t>(items_.size());
      items_.push_back({gradient, static_cast<std::uint16_t>(at), round});
      UrgentQueue& queue = stage.kind == Stage::Kind::kSend ? ports_[stage.between ? 1 : 0].ready : codec_ready_;
      queue.push({priorities_[gradient], stage.hop, arrivals_++, item});
    }
    if (!stage.aside) return;
  }
}

void OneRank::over(const Item& item) {
  const std::uint32_t gradient = item.gradient;
  const Outline& outline = *outlines_[gradient];
  const bool last = item.stage + std::size_t{1} == outline.stages.size();
  if (!last && !outline.stages[item.stage].aside) return enter(gradient, item.stage + std::size_t{1}, item.round);
  if (--left_[gradient] == 0) finish(gradient);
}

void OneRank::finish(std::uint32_t gradient) {
  active_[gradient] = 0;
  made_.gradients[gradient].sync_s += now_;
  if (!blocked_ || milestones_[milestone_].gradient != gradient) return;
  blocked_ = false;
  made_.parts.waiting_s += now_ - blocked_since_;
  made_.gradients[gradient].waiting_s = now_ - blocked_since_;
  start(at_training_, 0, 1, Event::Kind::kTraining);
}

void OneRank::start_codec() {
  const auto rate = [&](const Stage& stage) {
    return at_training_.running ? slowed(profile_.contention, stage.kind) : 1;
  };
  if (one_thread()) start_messages();
  // Stages that take no time delay nobody: they are over at once, and may make more ready.
  while (!at_codec_.running && !codec_ready_.empty()) {
    const auto [priority, hop, arrival, item] = codec_ready_.top();
    const Stage& stage = stage_of(item);
    if (one_thread() && at_messages_.running && stage.seconds > 0) break;
    codec_ready_.pop();
    if (stage.seconds == 0 && stage.then_s == 0) {
      over(Item(items_[item]));
      continue;
    }
    codec_item_ = item;
    codec_began_ = now_;
    start(at_codec_, seconds_of(item, arrival), rate(stage), Event::Kind::kCodec);
  }
  if (!one_thread()) start_messages();
  if (at_codec_.running) change_rate(at_codec_, rate(stage_of(codec_item_)), Event::Kind::kCodec);
  change_rate(at_training_, training_rate(), Event::Kind::kTraining);
}

/// As Engine::start_messages.
void OneRank::start_messages() {
  const double rate = at_training_.running ? 1 / profile_.contention.encode : 1;
  if (!at_messages_.running && !message_work_.empty() && !(one_thread() && at_codec_.running)) {
    messages_began_ = now_;
    start(at_messages_, message_work_.front().seconds, rate, Event::Kind::kMessages);
  }
  change_rate(at_messages_, rate, Event::Kind::kMessages);
}

/// A message has left when its port and the sender's processors are through with it, and is there when it has come
/// through the network, its sender is through, and the receiver's processors are.
void OneRank::send_with_work(std::span<const std::uint32_t> together, MessageWorkSeconds work, double seconds,
                             double head_s, double arrives) {
  const std::uint32_t first = together.front();
  messages_.resize(items_.size());
  for (std::size_t i = 0; i < together.size(); ++i) {
    messages_[together[i]].next = i + 1 < together.size() ? together[i + 1] : first;
  }
  messages_[first].to_leave = 2;
  messages_[first].to_arrive = 3;
  messages_[first].receive_work_s = work.receive_s;
  message_work_.push_back({first, true, work.send_s});
  events_.push(now_ + seconds, Event::Kind::kPortFree, first);
  events_.push(now_ + head_s, Event::Kind::kHead, first);
  events_.push(arrives, Event::Kind::kArrived, first, kPartOfMessage);
}

void OneRank::part_left(std::uint32_t first) {
  if (--messages_[first].to_leave > 0) return;
  const Stage& stage = stage_of(first);
  ports_[stage.between ? 1 : 0].sending = false;
  events_.push(now_ + stage.latency_s, Event::Kind::kArrived, first, kPartOfMessage);
}

void OneRank::part_arrived(std::uint32_t first) {
  if (--messages_[first].to_arrive > 0) return;
  for (std::uint32_t item = first;;) {
    const std::uint32_t next = messages_[item].next;
    events_.push(now_ + stage_of(item).then_s, Event::Kind::kArrived, item);
    if (next == first) return;
    item = next;
  }
}

/// Fuses messages to the same receiver as Engine does.
void OneRank::start_sending(bool between) {
  Port& port = ports_[between ? 1 : 0];
  if (port.sending || port.ready.empty()) return;
  std::vector<std::uint32_t> together;
  double seconds = 0, receive_s = 0, head_s = 0, latency_s = 0, bytes = 0;
  MessageWorkSeconds work;
  while (!port.ready.empty()) {
    const std::uint32_t item = port.ready.top().task;
    const Stage& stage = stage_of(item);
    const double each = stage.bytes / std::max(1.0, stage.messages);
    if (!together.empty() &&
        (!stage.joins || !fuses(together.size(), static_cast<Bytes>(bytes), static_cast<Bytes>(each), fusion_bytes_))) {
      break;
    }
    port.ready.pop();
    seconds += stage.seconds - (together.empty() ? 0 : stage.message_s);
    receive_s += stage.receive_s;
    work.send_s += stage.work.send_s - (together.empty() ? 0 : stage.work_each.send_s);
    work.receive_s += stage.work.receive_s - (together.empty() ? 0 : stage.work_each.receive_s);
    if (together.empty()) made_.messages_per_rank += stage.messages;
    head_s = stage.head_s;
    latency_s = stage.latency_s;
    made_.wire_bytes_per_rank += stage.bytes;
    bytes += each;
    together.push_back(item);
    if (!stage.joins) break;
  }
  port.sending = true;
  made_.parts.wire_s += seconds;
  const double begins = std::max(now_ + head_s, port.receives_until);
  port.receives_until = begins + receive_s;
  const double arrives = std::max(port.receives_until, now_ + seconds + latency_s);
  if (messages_work_) return send_with_work(together, work, seconds, head_s, arrives);
  events_.push(now_ + seconds, Event::Kind::kPortFree, between ? 1 : 0);
  for (const std::uint32_t item : together) events_.push(arrives + stage_of(item).then_s, Event::Kind::kArrived, item);
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
