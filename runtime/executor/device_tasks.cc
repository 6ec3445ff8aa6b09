// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/device_tasks.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/check.h"
#include "base/log.h"
#include "casync/graph/access.h"
#include "compll/codec/coded/coded_codec.h"
#include "compll/codec/payload.h"
#include "runtime/executor/answer_lane.h"
#include "runtime/executor/answering.h"
#include "runtime/executor/bundle_lane.h"
#include "runtime/executor/keep_for_ever.h"

namespace casync::runtime {
namespace {

// So many tasks overlap: copies one way, copies the other way and kernels each keep a part of the device busy.
constexpr std::size_t kLanes = 4;
// Tasks that share kernels: so many, in so much memory of each lane. A kernel of a few MiB takes about as long as a
// launch.
constexpr std::size_t kMostTogether = 64;
constexpr Bytes kVectorsTogether = 32_MiB, kKernelsTogether = 32_MiB, kPinnedTogether = 256_KiB;

}  // namespace

DeviceTasks::DeviceTasks(Device& device, const Settings& settings, Transport& transport)
    : device_(device),
      settings_(settings),
      bell_(std::make_shared<Bell>(transport)),
      kernels_(device, settings.scale),
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
    lane->tasks.reserve(kMostTogether);
    lanes_.push_back(std::move(lane));
    free_.push_back(static_cast<std::uint32_t>(i));
  }
  taken_.reserve(kLanes);
  return Status::ok();
}

Status DeviceTasks::take_in(std::span<GradientRun* const> runs, const std::function<Status()>& rest) {
  LaneRoom all = room_;
  for (GradientRun* run : runs) {
    const auto refused = [&](const Status& status) {
      return Status(status.code(), "gradient " + run->spec.name + ": " + status.message());
    };
    if (Status status = kernels_.take_in(*run); !status) return refused(status);
    const std::size_t tasks = run->rounds      ? run->rounds->turns()
                              : run->answering ? run->answering->on_device()->tasks()
                                               : run->graph.tasks().size();
    std::vector<LaneRoom> rooms;
    for (std::size_t i = 0; i < tasks; ++i) {
      const Result<LaneRoom> room = room_of(tasks_, *run, static_cast<std::uint32_t>(i));
      if (!room) return refused(room.status());
      all.cover(*room);
      rooms.push_back(*room);
      if (room->launched == 1 && !run->answering) together_.add(*room);
    }
    run->device.set_rooms(std::move(rooms));
  }
  all.cover({.vectors = std::min(together_.vectors, kVectorsTogether),
             .kernels = std::min(together_.kernels, kKernelsTogether),
             .pinned = std::min(together_.pinned, kPinnedTogether),
             .terms = std::min(together_.terms, kMostTogether * static_cast<std::size_t>(settings_.ranks + 1)),
             .calls = std::min(together_.calls, kMostTogether)});
  if (lanes_[0]->memory != nullptr && room_.covers(all)) return Status::ok();
  CASYNC_RETURN_IF_ERROR(rest());
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

void DeviceTasks::add(GradientRun& run, TaskId task) {
  DeviceLane& lane = *lanes_[free_.back()];
  if (lane.tasks.empty()) {
    const Result<bool> ready = run.device.ready() == nullptr ? Result<bool>(true) : run.device.ready()->done();
    added_ = {batch_kind_of(tasks_, run, task), {}, ready && *ready ? nullptr : run.device.ready()};
  }
  if (added_.kind.kernels != nullptr) added_.room.add(run.device.room_of(task));
  lane.tasks.push_back({&run, task});
}

bool DeviceTasks::joins(const GradientRun& run, TaskId task) const {
  if (added_.kind.kernels == nullptr || lanes_[free_.back()]->tasks.size() == kMostTogether) return false;
  if (batch_kind_of(tasks_, run, task) != added_.kind) return false;
  LaneRoom both = added_.room;
  both.add(run.device.room_of(task));
  if (!room_.covers(both)) return false;
  if (added_.ready != nullptr) return run.device.ready() == added_.ready;
  const Result<bool> ready = run.device.ready() == nullptr ? Result<bool>(true) : run.device.ready()->done();
  return ready && *ready;
}

Status DeviceTasks::begin() {
  const std::uint32_t at = free_.back();
  DeviceLane& lane = *lanes_[at];
  lane.from = Clock::now();
  lane.ended = 0;
  lane.put_back = false;
  free_.pop_back();
  taken_.push_back(at);
  Status status = queue_tasks(tasks_, room_, lane);
  const Status recorded = record_end(lane);  // of a task that is refused half-way, the half that is queued
  if (status.is_ok()) status = recorded;
  if (status.is_ok()) return status;
  failed_ = true;
  return failure_of(lane, status);
}

Status DeviceTasks::record_end(DeviceLane& lane) {
  CASYNC_RETURN_IF_ERROR(lane.stream->record(*lane.end));
  CASYNC_RETURN_IF_ERROR(lane.stream->call(Bell::ring, bell_.get()));
  bell_->asked();
  return Status::ok();
}

/// Gives asynchronous ranks back what they had kept where a code of theirs is not finite: their step is committed all
/// the same. Returns true if the lane goes on with that.
Result<bool> DeviceTasks::put_back_kept(DeviceLane& lane) {
  if (std::exchange(lane.put_back, true)) return false;
  bool any = false;
  for (const LaneTask& one : lane.tasks) {
    GradientRun& run = *one.run;
    if (!run.asynchronous) continue;
    const auto* const encode = std::get_if<Encode>(&run.graph.tasks()[TaskGraph::index(one.task)]);
    if (encode == nullptr) continue;
    const KeptState::Slices kept = run.kept.of(run.codec_of(encode->to), KeptBy::kEncode, encode->from);
    if (kept.in.is_null() || compll::says_finite(run.state(encode->to).memory.data)) continue;
    const Bytes bytes = encode->from.count * bytes_of(run.kept.type());
    const DeviceView was = run.kept.memory() == ResidualMemory::kOneBuffer ? lane.kept : kept.in.slice(0, bytes);
    CASYNC_RETURN_IF_ERROR(lane.stream->copy(was, kept.out.slice(0, bytes)));
    any = true;
  }
  if (any) CASYNC_RETURN_IF_ERROR(record_end(lane));
  return any;
}

/// A failure of the device, with the gradients that it may belong to.
Status DeviceTasks::failure_of(const DeviceLane& lane, const Status& status) const {
  const GradientRun& first = *lane.tasks[0].run;
  std::string text = "gradient " + first.spec.name;
  if (const std::size_t more = lane.tasks.size() - 1; more > 0) text += " and " + std::to_string(more) + " more";
  return Status(status.code(), text + ", step " + std::to_string(first.step.number()) + ": " + status.message());
}

std::optional<DeviceTasks::Ended> DeviceTasks::take_ended() {
  for (std::size_t i = 0; i < taken_.size(); ++i) {
    DeviceLane& lane = *lanes_[taken_[i]];
    if (lane.ended == 0) {
      const Result<bool> done = lane.end->done();
      if (done && !*done) continue;
      const Result<bool> goes_on = done ? put_back_kept(lane) : done;
      if (goes_on && *goes_on) continue;
      lane.outcome = goes_on.status();
      if (!goes_on) {
        failed_ = true;
        lane.outcome = failure_of(lane, goes_on.status());
      }
    }
    const std::size_t at = lane.ended++;
    const LaneTask one = lane.tasks[at];
    Ended ended{one.run, one.task, {}, lane.from, taken_[i] + 1};
    if (lane.outcome) {
      ended.outcome = outcome_of(lane, at);
    } else {
      ended.outcome.status = lane.outcome;
    }
    if (lane.ended == lane.tasks.size()) {
      lane.tasks.clear();
      free_.push_back(taken_[i]);
      taken_.erase(taken_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return ended;
  }
  return std::nullopt;
}

TaskOutcome DeviceTasks::outcome_of(DeviceLane& lane, std::size_t at) const {
  const LaneTask& one = lane.tasks[at];
  GradientRun& run = *one.run;
  if (run.parts) return end_bundle_task(room_, lane);
  if (run.answering) return end_answer_task(room_, lane);
  if (run.rounds) {
    TaskOutcome outcome;
    if (!run.rounds->is_last()) return outcome;
    for (const std::unique_ptr<GradientRun>& each : run.rounds->exchanges()) outcome.finite &= each->step.is_finite();
    for (std::size_t i = 0; i < kernels_.of(*run.rounds->codec).heads(); ++i) {
      outcome.finite &= compll::says_finite(lane.pinned->view().data + i * kDevicePayloadHead);
    }
    outcome.finite &= lane.outcome_of(room_, at).not_finite == 0;
    return outcome;
  }
  const Primitive& primitive = run.graph.tasks()[TaskGraph::index(one.task)];
  bool coded = false;
  for_each_read(primitive, [&](BufferId from) { coded = coded || compll::size_varies(run.codec_of(from)); });
  if (coded && lane.outcome_of(room_, at).coding.fault != 0) return {fault_of(run, primitive), 0, true};
  if (const auto* decode = std::get_if<Decode>(&primitive)) {
    const bool fits = lane.outcome_of(room_, at).not_finite == 0;
    const RunBuffers::State& state = run.state(decode->from);
    return {Status::ok(), state.bytes, state.finite && (fits || run.spec.scattered)};  // as on the host: run_decode()
  }
  const auto* const merge = std::get_if<Merge>(&primitive);
  const BufferId to = merge != nullptr ? merge->to : std::get<Encode>(primitive).to;
  const bool identity = run.codec_of(to).info().identity;
  const bool varies = compll::size_varies(run.codec_of(to));
  TaskOutcome outcome{Status::ok(), varies ? lane.outcome_of(room_, at).coding.bytes : run.buffers.bound_of(to), true};
  if (merge == nullptr && identity) return outcome;  // as it is on the host: the merge looks
  const std::byte* const head = identity ? lane.pinned->view().data : run.state(to).memory.data;
  outcome.finite = compll::says_finite(head);
  if (merge == nullptr) return outcome;
  outcome.finite &= lane.outcome_of(room_, at).not_finite == 0;
  for (const std::optional<BufferId>& each : merge->contributions) {
    if (each) outcome.finite = outcome.finite && run.state(*each).finite;
  }
  return outcome;
}

/// Kernels have found that a payload is none of its codec: says which, as the host sees it.
Status DeviceTasks::fault_of(GradientRun& run, const Primitive& primitive) {
  Status status;
  for_each_read(primitive, [&](BufferId from) {
    if (status.is_ok()) status = check_payload(run, from);
  });
  if (!status.is_ok()) return status;
  return internal_error("gradient " + run.spec.name + ", step " + std::to_string(run.step.number()) +
                        ": kernels take for damaged what is a payload of its codec");
}

bool DeviceTasks::come_to_rest(Clock::time_point deadline) {
  while (true) {
    while (take_ended()) {
    }
    const bool at_rest = taken_.empty() && (failed_ || bell_->is_at_rest());
    if (at_rest || Clock::now() >= deadline) break;
    std::this_thread::sleep_for(kRestPause);
  }
  if (!bell_->silence()) keep_for_ever(bell_);
  if (taken_.empty()) return true;
  log().error("{}: {} tasks have not ended: their memory is kept until the process ends", device_.name(),
              taken_.size());
  // Keeps all lanes: giving back the memory of one would wait for the device.
  for (std::unique_ptr<DeviceLane>& lane : lanes_) keep_for_ever(std::move(lane));
  return false;
}

}  // namespace casync::runtime
