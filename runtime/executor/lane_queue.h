// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "base/check.h"
#include "compll/codec/coded/coded_codec.h"
#include "runtime/executor/device_lane.h"
#include "runtime/executor/kernel_queue.h"
#include "runtime/executor/task_runner.h"

namespace casync::runtime {

/// Queues kernels and copies of a task on a lane. Without a lane it queues nothing, and finds out what a lane needs.
///
/// Threads: the progress thread.
class LaneQueue : protected KernelQueue {
 public:
  const LaneRoom& plan() const { return plan_; }

 protected:
  /// `room`: the lane's. Borrows all.
  LaneQueue(const LaneTasks& tasks, const LaneRoom& room, DeviceLane* lane, LaneLists& lists)
      : KernelQueue(tasks.kernels, {tasks.seed, tasks.scale}), lists_(lists), lane_(lane), room_(room) {
    lists_.terms.clear();
    lists_.calls.clear();
    lists_.payloads.clear();
    lists_.sums.clear();
  }
  ~LaneQueue() = default;

  DeviceView take_vector(Bytes bytes) override {
    const Bytes at = plan_.vectors;
    plan_.vectors += round_up(bytes, LaneRoom::kAlignment);
    if (lane_ == nullptr) return {LaneRoom::kAlignment, bytes};
    CASYNC_CHECK(plan_.vectors <= room_.vectors);
    return lane_->memory->device().slice(at, bytes);
  }

  /// Pinned memory for plain payloads, until the task has ended. Null without a lane.
  View take_plain(Bytes bytes) {
    const Bytes at = plan_.plain;
    plan_.plain += round_up(bytes, LaneRoom::kAlignment);
    if (lane_ == nullptr) return {};
    CASYNC_CHECK(plan_.plain <= room_.plain);
    return lane_->pinned->view().slice(room_.plain_at() + at, bytes);
  }

  /// Sets the words of a task of the lane to zero, and returns the place for its outcome of coding.
  DeviceView take_outcome(std::size_t task) {
    plan_.calls = std::max(plan_.calls, task + 1);
    if (lane_ == nullptr) return {LaneRoom::kAlignment, sizeof(KernelOutcome)};
    lane_->outcome_of(room_, task) = {};
    return word_at(task, offsetof(LaneOutcome, coding), sizeof(KernelOutcome));
  }
  /// The word of the task whose call is listed next: the only one if none is listed.
  DeviceView not_finite() override {
    if (lane_ == nullptr) return {LaneRoom::kAlignment, sizeof(KernelWord)};
    return word_at(lists_.calls.size(), offsetof(LaneOutcome, not_finite), sizeof(KernelWord));
  }

  /// Memory for a payload that a task makes. One with coded sections is made where its message leaves from: how much of
  /// that it takes is known at its end.
  DeviceView take_payload(GradientRun& run, BufferId to) {
    const Bytes bound = run.buffers.bound_of(to);
    if (!compll::size_varies(run.codec_of(to))) return take_vector(bound);
    return lane_ == nullptr ? DeviceView(LaneRoom::kAlignment, bound)
                            : DeviceView::of(run.state(to).memory.data, bound);
  }

  /// Copies a payload to the device. `to` gets its place there, as long as it is.
  Status bring(GradientRun& run, BufferId from, DeviceView* to) {
    *to = take_vector(run.buffers.bound_of(from));
    if (lane_ == nullptr) return Status::ok();
    const RunBuffers::State& state = run.state(from);
    CASYNC_RETURN_IF_ERROR(upload({state.memory.data, state.bytes}, *to));
    *to = to->slice(0, state.bytes);
    return Status::ok();
  }
  /// The same once the host has looked at it, and lists it as a term. An identity's is raw elements, of float32.
  Status bring_term(GradientRun& run, BufferId from) {
    DeviceView payload;
    if (lane_ != nullptr) CASYNC_RETURN_IF_ERROR(check_for_kernels(run, from));
    CASYNC_RETURN_IF_ERROR(bring(run, from, &payload));
    lists_.terms.push_back(run.codec_of(from).info().identity ? KernelTerm{{}, payload} : KernelTerm{payload, {}});
    return Status::ok();
  }

  /// Makes the lane wait for the program, which writes the gradient. Gradients that were submitted together share an
  /// event, for which it waits once.
  Status wait_for(const GradientRun& run) {
    const Event* const ready = run.device.ready();
    if (lane_ == nullptr || ready == nullptr || std::exchange(waited_, ready) == ready) return Status::ok();
    return lane_->stream->wait_for(*ready);
  }
  Status upload(ConstView from, DeviceView to) {
    return lane_ == nullptr ? Status::ok() : lane_->stream->upload(from, to.slice(0, from.size));
  }
  Status download(DeviceView from, View to) {
    return lane_ == nullptr ? Status::ok() : lane_->stream->download(from, {to.data, from.size()});
  }
  Status copy(DeviceView from, DeviceView to) override {
    return lane_ == nullptr ? Status::ok() : lane_->stream->copy(from, to);
  }
  void note_kept(DeviceView copy) override {
    if (lane_ != nullptr) lane_->kept = copy;
  }

  LaneLists& lists_;
  DeviceLane* const lane_;

 private:
  DeviceView word_at(std::size_t task, Bytes first, Bytes bytes) const {
    return lane_->pinned->device().slice(room_.outcome_at(task) + first, bytes);
  }
  Status queue(CodecKernels& kernels, std::span<const KernelCall> batch) override { return queue_call(kernels, batch); }
  Status queue(TurnKernels& kernels, const TurnCall& call) override { return queue_call(kernels, call); }

  template <class Kernels, class Call>
  Status queue_call(Kernels& kernels, const Call& call) {
    plan_.terms = std::max(plan_.terms, lists_.terms.size());
    // A call that no list has has a place in one if its task shares kernels.
    plan_.calls = std::max(plan_.calls, std::max<std::size_t>(lists_.calls.size(), 1));
    ++plan_.launched;
    if (lane_ == nullptr) {
      const Result<KernelRoom> room = kernels.room(call);
      if (!room) return room.status();
      plan_.kernels = std::max(plan_.kernels, round_up(room->device, LaneRoom::kAlignment));
      plan_.pinned = std::max(plan_.pinned, round_up(room->pinned, LaneRoom::kAlignment));
      return Status::ok();
    }
    CASYNC_CHECK(calls_ < LaneRoom::kMostCalls);
    const View pinned = lane_->pinned->view().slice(room_.call_at(calls_++), room_.pinned);
    return kernels.issue(call, lane_->memory->device().slice(room_.vectors, room_.kernels), pinned, *lane_->stream);
  }

  const LaneRoom& room_;
  LaneRoom plan_;
  const Event* waited_ = nullptr;  ///< the last event that it waits for
  std::size_t calls_ = 0;
};

}  // namespace casync::runtime
