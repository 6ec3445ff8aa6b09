// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/device_tasks.h"

#include <algorithm>
#include <mutex>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "compll/codec/coded/coded_codec.h"
#include "compll/codec/payload.h"
#include "runtime/executor/bundle_lane.h"

namespace casync::runtime {
namespace {

// So many tasks overlap: copies one way, copies the other way and kernels each keep a part of the device busy.
constexpr std::size_t kLanes = 4;
constexpr std::chrono::microseconds kRestPause{200};

/// What a device that failed may still call.
void keep_for_ever(std::shared_ptr<void> called) {
  static std::mutex mutex;
  static auto& kept = *new std::vector<std::shared_ptr<void>>;
  const std::lock_guard lock(mutex);
  kept.push_back(std::move(called));
}

}  // namespace

DeviceTasks::DeviceTasks(Device& device, const Settings& settings, Transport& transport)
    : device_(device),
      settings_(settings),
      bell_(std::make_shared<Bell>(transport)),
      kernels_(device),
      tasks_{kernels_, settings.seed, settings.scale} {}

DeviceTasks::~DeviceTasks() { bell_->silence(); }

Status DeviceTasks::open() {
  for (std::size_t i = 0; i < kLanes; ++i) {
    auto lane = std::make_unique<DeviceLane>();
    Result<std::unique_ptr<Stream>> stream = device_.make_stream(false);
    if (!stream) return stream.status();
    Result<std::unique_ptr<Event>> end = device_.make_event();
    if (!end) return end.status();
    lane->stream = std::move(*stream);
    lane->end = std::move(*end);
    lanes_.push_back(std::move(lane));
    free_.push_back(static_cast<std::uint32_t>(i));
  }
  taken_.reserve(kLanes);
  return Status::ok();
}

Status DeviceTasks::take_in(std::span<GradientRun* const> runs, const std::function<void()>& rest) {
  LaneRoom all = room_;
  for (GradientRun* run : runs) {
    const auto refused = [&](const Status& status) {
      return Status(status.code(), "gradient " + run->spec.name + ": " + status.message());
    };
    if (Status status = kernels_.take_in(*run); !status) return refused(status);
    const std::size_t tasks = run->rounds ? run->rounds->turns() : run->graph.tasks().size();
    for (std::size_t i = 0; i < tasks; ++i) {
      const Result<LaneRoom> room = room_of(tasks_, *run, static_cast<std::uint32_t>(i));
      if (!room) return refused(room.status());
      all.cover(*room);
    }
  }
  if (lanes_[0]->memory != nullptr && room_.covers(all)) return Status::ok();
  rest();
  return make_room(all);
}

/// Replaces each lane's memory.
Status DeviceTasks::make_room(const LaneRoom& room) {
  CASYNC_CHECK(under_way() == 0);
  for (const std::unique_ptr<DeviceLane>& lane : lanes_) {
    lane->lists.terms.reserve(room.terms);
    lane->lists.calls.reserve(room.calls);
    lane->lists.payloads.reserve(room.terms);
    lane->lists.sums.reserve(room.calls);
    lane->coder->reserve(static_cast<std::size_t>(settings_.ranks) + 1);
    lane->memory.reset();
    lane->pinned.reset();
    auto memory = device_.allocate(room.device_bytes(), Memory::kDevice);
    if (!memory) return memory.status();
    auto pinned = device_.allocate(room.pinned_bytes(), Memory::kPinned);
    if (!pinned) return pinned.status();
    lane->memory = std::move(*memory);
    lane->pinned = std::move(*pinned);
  }
  room_ = room;
  return Status::ok();
}

Status DeviceTasks::begin(GradientRun& run, TaskId task) {
  const std::uint32_t at = free_.back();
  DeviceLane& lane = *lanes_[at];
  lane.run = &run;
  lane.task = task;
  lane.from = Clock::now();
  free_.pop_back();
  taken_.push_back(at);
  Status status = queue_task(tasks_, room_, lane);
  const Status recorded =
      lane.stream->record(*lane.end);  // of a task that is refused half-way, the half that is queued
  if (status.is_ok()) status = recorded;
  if (status.is_ok()) status = lane.stream->call(Bell::ring, bell_.get());
  if (status.is_ok()) {
    bell_->asked();
    return status;
  }
  failed_ = true;
  return Status(status.code(),
                "gradient " + run.spec.name + ", step " + std::to_string(run.step) + ": " + status.message());
}

std::optional<DeviceTasks::Ended> DeviceTasks::take_ended() {
  for (std::size_t i = 0; i < taken_.size(); ++i) {
    DeviceLane& lane = *lanes_[taken_[i]];
    const Result<bool> done = lane.end->done();
    if (done && !*done) continue;
    Ended ended{lane.run, lane.task, {}, lane.from, taken_[i] + 1};
    if (done) {
      ended.outcome = outcome_of(lane);
    } else {
      failed_ = true;
      ended.outcome.status =
          Status(done.status().code(), "gradient " + lane.run->spec.name + ", step " + std::to_string(lane.run->step) +
                                           ": " + done.status().message());
    }
    free_.push_back(taken_[i]);
    taken_.erase(taken_.begin() + static_cast<std::ptrdiff_t>(i));
    return ended;
  }
  return std::nullopt;
}

TaskOutcome DeviceTasks::outcome_of(DeviceLane& lane) const {
  GradientRun& run = *lane.run;
  if (run.parts) return end_bundle_task(room_, lane);
  if (run.rounds) {
    TaskOutcome outcome;
    if (!run.rounds->is_last()) return outcome;
    for (const std::unique_ptr<GradientRun>& one : run.rounds->exchanges) outcome.finite &= one->finite;
    return outcome;
  }
  const Primitive& primitive = run.graph.tasks()[TaskGraph::index(lane.task)];
  if (const auto* decode = std::get_if<Decode>(&primitive)) {
    return {Status::ok(), run.state(decode->from).bytes, run.state(decode->from).finite};
  }
  const auto* const merge = std::get_if<Merge>(&primitive);
  const BufferId to = merge != nullptr ? merge->to : std::get<Encode>(primitive).to;
  const bool identity = run.codec_of(to).info().identity;
  const bool varies = compll::size_varies(run.codec_of(to));
  TaskOutcome outcome{Status::ok(), varies ? lane.coder->written() : run.bound_of(to), true};
  if (merge == nullptr && identity) return outcome;  // as it is on the host: the merge looks
  const std::byte* const head = identity ? lane.pinned->view().data : run.state(to).memory.data;
  outcome.finite = compll::says_finite(head);
  if (merge == nullptr) return outcome;
  for (const std::optional<BufferId>& one : merge->contributions) {
    if (one) outcome.finite = outcome.finite && run.state(*one).finite;
  }
  return outcome;
}

bool DeviceTasks::come_to_rest(Clock::time_point deadline) {
  while (true) {
    while (take_ended()) {
    }
    const bool at_rest = taken_.empty() && (failed_ || bell_->is_at_rest());
    if (at_rest || Clock::now() >= deadline) break;
    std::this_thread::sleep_for(kRestPause);
  }
  bell_->silence();
  if (!bell_->is_at_rest()) keep_for_ever(bell_);
  for (const std::unique_ptr<DeviceLane>& lane : lanes_) {
    lane->coder->silence();
    if (failed_) keep_for_ever(lane->coder);
  }
  if (taken_.empty()) return true;
  log().error("{}: {} tasks have not ended: their memory is kept until the process ends", device_.name(),
              taken_.size());
  for (const std::uint32_t at : taken_) static_cast<void>(lanes_[at].release());
  return false;
}

}  // namespace casync::runtime
