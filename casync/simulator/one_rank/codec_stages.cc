// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/one_rank/codec_stages.h"

#include "casync/simulator/one_rank.h"

namespace casync::one_rank {
namespace {

double StepParts::*part_of(Stage::Kind kind) {
  switch (kind) {
    case Stage::Kind::kEncode: return &StepParts::encode_s;
    case Stage::Kind::kMerge: return &StepParts::merge_s;
    case Stage::Kind::kDecode: return &StepParts::decode_s;
    case Stage::Kind::kTasks: return &StepParts::tasks_s;
    case Stage::Kind::kSend: break;
  }
  return &StepParts::wire_s;
}

}  // namespace

void CodecStages::reset() {
  work_ = Work(Event::Kind::kCodec);
  ready_ = {};
  kernels_ = {};
  turns_ = {};
}

/// The rate of a codec's stage, slowed by training if that runs: as engine::Processors.
double CodecStages::rate(const Stage& stage) const {
  if (!rank_.training.is_running()) return 1;
  const Contention& contention = rank_.profile.contention;
  switch (stage.kind) {
    case Stage::Kind::kMerge: return 1 / contention.merge;
    case Stage::Kind::kDecode: return 1 / contention.decode;
    default: return 1 / contention.encode;
  }
}

/// The seconds of a stage that begins now.
double CodecStages::seconds_of(std::uint32_t item, std::uint64_t arrival) {
  const Stage& stage = rank_.stages.stage_of(item);
  if (stage.shared_s <= 0) return stage.seconds;
  const std::uint32_t codec = rank_.stages.outline_of(item).codec;
  const bool shares =
      kernels_.takes(codec, static_cast<std::uint8_t>(stage.kind), arrival, rank_.stages.arrivals(), rank_.clock.now());
  return shares ? stage.seconds - stage.shared_s : stage.seconds;
}

/// Returns true if a stage that takes time can begin. Begins its turn.
bool CodecStages::may_start(bool may_begin_turn) {
  if (!rank_.one_thread()) return true;
  if (rank_.messages.is_running()) return false;
  if (turns_.goes_on(rank_.clock.now())) return true;
  if (turns_.leaves_messages() && !may_begin_turn) return false;
  rank_.messages.start();
  if (rank_.messages.is_running()) return false;
  turns_.begin(rank_.clock.now());
  return true;
}

void CodecStages::start(bool may_begin_turn) {
  // Stages that take no time delay nobody: they are over at once, and may make more ready.
  while (!work_.running() && !ready_.empty()) {
    const auto [priority, hop, arrival, item] = ready_.top();
    const Stage& stage = rank_.stages.stage_of(item);
    if (stage.seconds > 0 && !may_start(may_begin_turn)) break;
    ready_.pop();
    if (stage.seconds == 0 && stage.then_s == 0) {
      rank_.stages.over(item);
      continue;
    }
    item_ = item;
    began_ = rank_.clock.now();
    work_.start(rank_.clock, seconds_of(item, arrival), rate(stage));
  }
  rank_.messages.start();
  if (work_.running()) work_.change_rate(rank_.clock, rate(rank_.stages.stage_of(item_)));
  rank_.training.adjust();
}

void CodecStages::end(const Event& event) {
  if (!work_.ends_with(event)) return;
  const double now = rank_.clock.now();
  work_.stop();
  kernels_.ended = now;
  turns_.end_task();
  const Stage& stage = rank_.stages.stage_of(item_);
  const double took = now - began_;
  const double task_part = stage.tasks_s > 0 ? took * stage.tasks_s / stage.seconds : 0;
  rank_.record.add(&StepParts::tasks_s, task_part);
  rank_.record.add(&StepParts::processor_s, stage.tasks_s);
  rank_.record.add(part_of(stage.kind), took - task_part);
  if (stage.then_s > 0) {
    rank_.clock.push(now + stage.then_s, Event::Kind::kArrived, item_);
  } else {
    rank_.stages.over(item_);
  }
}

}  // namespace casync::one_rank
