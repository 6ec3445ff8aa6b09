// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/device_lane.h"

#include "base/check.h"
#include "runtime/executor/answer_lane.h"
#include "runtime/executor/batch_lane.h"
#include "runtime/executor/bundle_lane.h"
#include "runtime/executor/payload_lane.h"
#include "runtime/executor/task_runner.h"

namespace casync::runtime {
namespace {

class TaskQueue final : public PayloadQueue {
 public:
  TaskQueue(const LaneTasks& tasks, const LaneRoom& room, DeviceLane* lane, LaneLists& lists)
      : PayloadQueue(tasks, room, lane, lists), kernels_of_turns_(tasks.kernels) {}

  Status make(GradientRun& run, TaskId task) {
    if (run.rounds) return make_turn(run, run.rounds->turn());
    run_ = &run;
    const Primitive& primitive = run.graph.tasks()[TaskGraph::index(task)];
    if (const auto* encode = std::get_if<Encode>(&primitive)) return this->encode(*encode);
    if (const auto* merge = std::get_if<Merge>(&primitive)) return this->merge(*merge);
    if (const auto* decode = std::get_if<Decode>(&primitive)) return this->decode(*decode);
    return Status::ok();  // a message
  }
  /// The turn of this number of a gradient whose codec exchanges within a step.
  Status make_turn(GradientRun& run, std::uint32_t number) {
    run_ = &run;
    take_outcome(0);
    CASYNC_RETURN_IF_ERROR(wait_for(*run_));
    CASYNC_RETURN_IF_ERROR(turn(run, number));
    const Bytes heads = kernels_of_turns_.of(*run.rounds->codec).heads() * kDevicePayloadHead;
    if (lane_ == nullptr || heads == 0 || number != run.rounds->exchanges().size()) return Status::ok();
    return download(run.rounds->scratch()->device().slice(0, heads), lane_->pinned->view().slice(0, heads));
  }

 private:
  Status encode(const Encode& encode) {
    const compll::Codec& codec = run_->codec_of(encode.to);
    CASYNC_RETURN_IF_ERROR(wait_for(*run_));
    if (codec.info().identity) return download(run_->device.memory(encode.from), run_->state(encode.to).memory);
    KernelCall call = calls().encode(*run_, codec, encode.from);
    call.outcome = take_outcome(0);
    return make_payload(codec, encode.to, call);
  }

  Status merge(const Merge& merge) {
    const compll::Codec* in = nullptr;
    CASYNC_RETURN_IF_ERROR(gather(merge, &in));
    KernelCall call;
    CASYNC_RETURN_IF_ERROR(begin_merge(*run_, merge, lists_.terms, in, take_outcome(0), &call));
    CASYNC_RETURN_IF_ERROR(make_payload(run_->codec_of(merge.to), merge.to, call));
    return is_rounded_shard(*run_, merge.to) ? round_shard(merge.to, call.payload) : Status::ok();
  }
  /// Rounds the sum in an identity's payload as its decode will, to learn if it stays finite.
  Status round_shard(BufferId sum, DeviceView payload) {
    const Slice slice = run_->buffers.of(sum).slice;
    const KernelTerm floats{{}, payload.slice(kDevicePayloadHead, slice.count * sizeof(float))};
    const DecodedSlice rounded{take_vector(slice.count * bytes_of(run_->spec.dtype)), run_->spec.dtype, not_finite()};
    return launch(run_->codec_of(sum), KernelCalls::decode(slice, {&floats, 1}, rounded));
  }

  Status decode(const Decode& decode) {
    const compll::Codec& codec = run_->codec_of(decode.from);
    const DeviceView outcome = take_outcome(0);
    const DecodedSlice out = decoded(*run_, decode.to);
    CASYNC_RETURN_IF_ERROR(wait_for(*run_));
    if (codec.info().identity && out.dtype == DType::kFloat32) {
      CASYNC_RETURN_IF_ERROR(upload_payload(decode.from, out.memory));
    } else {
      CASYNC_RETURN_IF_ERROR(bring_term(*run_, decode.from));
      KernelCall call = KernelCalls::decode(decode.to, lists_.terms, out);
      call.outcome = outcome;
      CASYNC_RETURN_IF_ERROR(launch(codec, call));
    }
    return end_decode(*run_, decode.to, out);
  }

  /// Brings the terms of a merge to the device; `in`: the codec of those that are codes.
  Status gather(const Merge& merge, const compll::Codec** in) {
    for (const std::optional<BufferId>& one : merge.contributions) {
      if (!one) {
        CASYNC_RETURN_IF_ERROR(wait_for(*run_));
        lists_.terms.push_back(own_term(*run_, merge.local));
        continue;
      }
      CASYNC_RETURN_IF_ERROR(bring_term(*run_, *one));
      if (const compll::Codec& codec = run_->codec_of(*one); !codec.info().identity) *in = &codec;
    }
    return Status::ok();
  }

  const KernelTable& kernels_of_turns_;
};

}  // namespace

Result<LaneRoom> room_of(const LaneTasks& tasks, GradientRun& run, std::uint32_t task) {
  if (run.parts) return room_of_bundle(tasks, run, TaskId(task));
  if (run.answering) return room_of_answer_task(tasks, run, TaskId(task));
  const LaneRoom none;
  LaneLists lists;
  TaskQueue queue(tasks, none, nullptr, lists);
  CASYNC_RETURN_IF_ERROR(run.rounds ? queue.make_turn(run, task) : queue.make(run, TaskId(task)));
  return queue.plan();
}

Status queue_tasks(const LaneTasks& tasks, const LaneRoom& room, DeviceLane& lane) {
  const LaneTask& first = lane.tasks[0];
  if (lane.tasks.size() > 1) return queue_batch(tasks, room, lane);
  if (first.run->parts) return queue_bundle_task(tasks, room, lane);
  if (first.run->answering) return queue_answer_task(tasks, room, lane);
  return TaskQueue(tasks, room, &lane, lane.lists).make(*first.run, first.task);
}

}  // namespace casync::runtime
