// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/computing.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>
#include <utility>
#include <variant>

#include "base/check.h"
#include "runtime/executor/answering.h"

namespace casync::runtime {
namespace {

// Below this a task is over by the time that another thread has woken up.
constexpr Elements kStreamElements = Elements{32} * 1024;

// Small tasks run one after the other for so long, then the network is looked at again: what they made leaves
// fused then, and a message that comes in meanwhile waits no longer than a wake-up would take.
constexpr std::chrono::microseconds kTaskTime{50};  // kTaskTurn in casync/simulator/task_turn.h, too

// Interval at which streams that come to rest are polled.
constexpr Seconds kStreamsPause{0.001};

// A device rings when a task has ended; one that has failed may not.
constexpr std::chrono::milliseconds kDeviceLook{2};

// A call of a round that is about to be in its stream: later work waits for it.
constexpr std::chrono::microseconds kStartLook{50};

Elements elements_of(const GradientRun& run, TaskId task) {
  if (run.rounds) return run.elements;
  if (run.answering) return run.answering->of(task).elements();
  const Primitive& primitive = run.graph.tasks()[TaskGraph::index(task)];
  if (run.parts && !std::holds_alternative<Merge>(primitive)) return run.elements;
  if (const auto* encode = std::get_if<Encode>(&primitive)) return encode->from.count;
  if (const auto* decode = std::get_if<Decode>(&primitive)) return decode->to.count;
  const auto& merge = std::get<Merge>(primitive);
  return run.buffers.elements_in(merge.to) * merge.contributions.size();
}

}  // namespace

Computing::Computing(const ExecutorOptions& options, Device& device, Transport& transport, ReadyTasks& ready,
                     GradientSteps& steps, Failures& failures, WorkRecord& record)
    : options_(options),
      device_(device),
      transport_(transport),
      ready_(ready),
      steps_(steps),
      failures_(failures),
      record_(record),
      streams_(
          transport,
          [this](GradientRun& run, TaskId task, Scratch& scratch) {
            // After a failure nobody takes the result, and the callers wait for their memory.
            return failures_.failing() ? TaskOutcome{} : compute(run, task, scratch);
          },
          record.allocations()) {}

Status Computing::open_rounds(Bytes bucket_bytes, const DeviceRounds::Open& open) {
  CASYNC_CHECK(!device_.is_host());
  rounds_ = std::make_unique<DeviceRounds>(device_, DeviceRounds::Settings{options_.seed, options_.scale, bucket_bytes},
                                           transport_);
  return rounds_->open(open);
}

Status Computing::open() {
  if (device_.is_host()) return streams_.open(options_.streams);
  if (rounds_ != nullptr) return Status::ok();
  device_tasks_ = std::make_unique<DeviceTasks>(
      device_, DeviceTasks::Settings{options_.seed, options_.scale, options_.ranks}, transport_);
  return device_tasks_->open();
}

Status Computing::take_in(std::span<GradientRun* const> runs) {
  if (rounds_ != nullptr) return rounds_->take_in(runs);
  if (device_tasks_ != nullptr) {
    for (GradientRun* run : runs) run->move_to_device();
    // The memory of tasks under way cannot be laid out anew.
    CASYNC_RETURN_IF_ERROR(device_tasks_->take_in(runs, [this] {
      while (device_tasks_->under_way() > 0 && !failures_.failing()) {
        if (!take_ended_on_device()) std::this_thread::yield();
      }
      return failures_.failure();
    }));
  }
  for (const GradientRun* run : runs) {
    reserve_scratch(*run, options_.ranks, scratch_);
    streams_.reserve(*run, options_.ranks);
  }
  if (device_.is_host()) streams_.prepare(runs);
  return Status::ok();
}

/// Runs a task, on any thread.
TaskOutcome Computing::compute(GradientRun& run, TaskId task, Scratch& scratch) {
  return record_.measure(
      [&] { return run_task(run, task, options_.seed, run.scale.scale_or(options_.scale), scratch); });
}

bool Computing::run_ready() {
  const bool any = ready_.run_instant([this](const ReadyTask& ready) { steps_.run_instant(*ready.run, ready.task); });
  if (device_tasks_ != nullptr) return begin_on_device() || any;
  if (rounds_ != nullptr) return run_rounds() || any;
  return run_on_host() || any;
}

bool Computing::run_on_host() {
  ReadyQueue& queue = ready_.to_compute();
  if (queue.empty()) return false;
  bool any = false;
  Clock::time_point now = Clock::now();
  const Clock::time_point until = now + kTaskTime;
  while (!take_stale(queue) && now < until && !failures_.failing()) {
    const ReadyTask ready = queue.top();
    if (!begin_on_stream(ready)) {
      if (!streams_.empty() && elements_of(*ready.run, ready.task) >= kStreamElements) break;  // streams are full
      queue.pop();
      steps_.prepare(*ready.run, ready.task);
      now = steps_.finish(*ready.run, ready.task, compute(*ready.run, ready.task, scratch_), now, 0);
      ready_.run_instant([this](const ReadyTask& instant) { steps_.run_instant(*instant.run, instant.task); });
    } else {
      queue.pop();
    }
    any = true;
  }
  return any;
}

bool Computing::begin_on_stream(const ReadyTask& ready) {
  if (!streams_.has_room() || elements_of(*ready.run, ready.task) < kStreamElements) return false;
  steps_.prepare(*ready.run, ready.task);
  streams_.begin(ready);
  return true;
}

bool Computing::begin_on_device() {
  ReadyQueue& queue = ready_.to_compute();
  bool any = false;
  while (device_tasks_->has_room() && !take_stale(queue) && !failures_.failing()) {
    do {
      const ReadyTask ready = queue.pop();
      steps_.prepare(*ready.run, ready.task);
      device_tasks_->add(*ready.run, ready.task);
    } while (!take_stale(queue) && device_tasks_->joins(*queue.top().run, queue.top().task));
    if (Status status = device_tasks_->begin(); !status) failures_.report(std::move(status));
    any = true;
  }
  return any;
}

/// Moves the rounds on. A failure ends everything.
bool Computing::run_rounds() {
  if (failures_.failing()) return false;
  const Result<bool> moved = rounds_->progress();
  if (!moved) {
    failures_.report(moved.status());
    return true;
  }
  while (GradientRun* run = rounds_->take_done()) {
    record_.count_task();
    steps_.finish_gradient(*run);
  }
  return *moved;
}

bool Computing::take_ended() {
  if (device_tasks_ != nullptr) return take_ended_on_device();
  return streams_.take_ended([this](Streams::Ended ended) {
    if (!failures_.failing()) steps_.finish(*ended.run, ended.task, std::move(ended.outcome), ended.from, ended.lane);
  });
}

bool Computing::take_ended_on_device() {
  bool any = false;
  while (std::optional<DeviceTasks::Ended> ended = device_tasks_->take_ended()) {
    any = true;
    if (failures_.failing()) continue;
    steps_.finish(*ended->run, ended->task, std::move(ended->outcome), ended->from, ended->lane);
  }
  return any;
}

Clock::time_point Computing::due(Clock::time_point now, Clock::time_point latest) const {
  if (device_tasks_ != nullptr && device_tasks_->under_way() > 0) {
    return std::min<Clock::time_point>(latest, now + kDeviceLook);
  }
  if (rounds_ == nullptr || !rounds_->is_under_way()) return latest;
  return std::min<Clock::time_point>(latest, rounds_->is_starting() ? now + kStartLook : now + kDeviceLook);
}

bool Computing::come_to_rest() {
  const bool at_rest = device_tasks_ == nullptr || device_tasks_->come_to_rest(after(options_.device_rest));
  while (!streams_.at_rest()) {
    if (!take_ended()) transport_.wait(after(kStreamsPause));
  }
  return at_rest;
}

bool Computing::end_rounds(bool in_order, Clock::time_point deadline) {
  if (rounds_ == nullptr) return true;
  if (!in_order || rounds_->is_under_way()) return rounds_->come_to_rest(after(options_.device_rest));
  rounds_->close(deadline);
  return true;
}

}  // namespace casync::runtime
