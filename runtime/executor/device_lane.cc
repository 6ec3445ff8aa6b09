// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/device_lane.h"

#include <algorithm>

#include "base/check.h"
#include "compll/codec/coded/coded_codec.h"
#include "runtime/executor/kernel_queue.h"
#include "runtime/executor/task_runner.h"

namespace casync::runtime {
namespace {

using Use = GradientRun::KeptBy;

/// Queues a task on a lane; without one it finds out what a lane needs for it.
class LaneQueue final : private KernelQueue {
 public:
  LaneQueue(const LaneTasks& tasks, const LaneRoom& room, DeviceLane* lane, std::vector<KernelTerm>& terms)
      : KernelQueue(tasks.kernels, {tasks.seed, tasks.scale}), room_(room), lane_(lane), terms_(terms) {}

  Status make(GradientRun& run, TaskId task) {
    if (run.rounds) return make_turn(run, run.rounds->turn);
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
    CASYNC_RETURN_IF_ERROR(wait_for_gradient());
    return turn(run, number);
  }
  const LaneRoom& plan() const { return plan_; }

 private:
  Status encode(const Encode& encode) {
    const compll::Codec& codec = run_->codec_of(encode.to);
    CASYNC_RETURN_IF_ERROR(wait_for_gradient());
    DeviceView in;
    CASYNC_RETURN_IF_ERROR(read_gradient(*run_, encode.from, &in));
    if (codec.info().identity) return download(in, run_->state(encode.to).memory);
    KernelCall call = call_of(*run_, KernelFunction::kEncode, codec, Use::kEncode, encode.from);
    call.in = in;
    return make_payload(codec, encode.to, call);
  }

  Status merge(const Merge& merge) {
    const compll::Codec* in = nullptr;
    CASYNC_RETURN_IF_ERROR(gather(merge, &in));
    KernelCall call;
    CASYNC_RETURN_IF_ERROR(begin_merge(*run_, merge, terms_, in, &call));
    return make_payload(run_->codec_of(merge.to), merge.to, call);
  }

  Status decode(const Decode& decode) {
    const compll::Codec& codec = run_->codec_of(decode.from);
    const DeviceView out = decoded(*run_, decode.to);
    CASYNC_RETURN_IF_ERROR(wait_for_gradient());
    if (lane_ != nullptr) CASYNC_RETURN_IF_ERROR(check_payload(*run_, decode.from));
    if (codec.info().identity) {
      CASYNC_RETURN_IF_ERROR(upload(decode.from, out));
    } else {
      terms_.assign(1, {});
      CASYNC_RETURN_IF_ERROR(bring(decode.from, &terms_[0].payload));
      KernelCall call;
      call.function = KernelFunction::kDecode;
      call.n = decode.to.count;
      call.terms = terms_;
      call.out = out;
      CASYNC_RETURN_IF_ERROR(launch(codec, call));
    }
    return end_decode(*run_, decode.to, out);
  }

  /// Brings the terms of a merge to the device; `in`: the codec of those that are codes.
  Status gather(const Merge& merge, const compll::Codec** in) {
    terms_.clear();
    for (const std::optional<BufferId>& one : merge.contributions) {
      if (!one) {
        CASYNC_RETURN_IF_ERROR(wait_for_gradient());
        DeviceView local;
        CASYNC_RETURN_IF_ERROR(read_gradient(*run_, merge.local, &local));
        terms_.push_back({{}, local});
        continue;
      }
      if (lane_ != nullptr) CASYNC_RETURN_IF_ERROR(check_payload(*run_, *one));
      const compll::Codec& codec = run_->codec_of(*one);
      DeviceView at;
      CASYNC_RETURN_IF_ERROR(bring(*one, &at));
      if (codec.info().identity) {
        terms_.push_back({{}, at});
      } else {
        terms_.push_back({at, {}});
        *in = &codec;
      }
    }
    return Status::ok();
  }

  /// Copies a payload to the device, without its coding.
  Status bring(BufferId from, DeviceView* to) {
    const compll::PayloadCoding* const coding = compll::coding_of(run_->codec_of(from));
    if (coding == nullptr) {
      *to = take_vector(run_->bound_of(from));
      return upload(from, *to);
    }
    const Elements n = run_->elements_in(from);
    const Bytes bytes = coding->plain().encoded_bound(n);
    const View plain = take_plain(bytes);
    *to = take_vector(bytes);
    if (lane_ == nullptr) return Status::ok();
    const GradientRun::BufferState& state = run_->state(from);
    const View payload{state.memory.data, state.bytes};
    CASYNC_RETURN_IF_ERROR(lane_->coder->read(*coding, n, payload, plain, *lane_->stream));
    return lane_->stream->upload(plain, *to);
  }

  /// An identity's elements leave without their head, which says if they are finite.
  Status make_payload(const compll::Codec& codec, BufferId to, KernelCall& call) {
    if (const compll::PayloadCoding* coding = compll::coding_of(codec)) return make_coded(codec, *coding, to, call);
    const Bytes head = codec.info().identity ? kDevicePayloadHead : 0;
    const Bytes bound = run_->bound_of(to);
    call.payload = take_vector(head + bound);
    CASYNC_RETURN_IF_ERROR(launch(codec, call));
    if (lane_ == nullptr) return Status::ok();
    if (head != 0) {
      CASYNC_RETURN_IF_ERROR(
          lane_->stream->download(call.payload.slice(0, head), lane_->pinned->view().slice(0, head)));
    }
    return lane_->stream->download(call.payload.slice(head, bound), run_->state(to).memory);
  }

  Status make_coded(const compll::Codec& codec, const compll::PayloadCoding& coding, BufferId to, KernelCall& call) {
    const Bytes bytes = coding.plain().encoded_bound(call.n);
    const View plain = take_plain(bytes);
    call.payload = take_vector(bytes);
    CASYNC_RETURN_IF_ERROR(launch(codec, call));
    CASYNC_RETURN_IF_ERROR(download(call.payload, plain));
    if (lane_ == nullptr) return Status::ok();
    return lane_->coder->write(coding, call.n, plain, run_->state(to).memory, *lane_->stream);
  }

  Status queue(CodecKernels& kernels, const KernelCall& call) override { return queue_call(kernels, call); }
  Status queue(TurnKernels& kernels, const TurnCall& call) override { return queue_call(kernels, call); }

  template <class Kernels, class Call>
  Status queue_call(Kernels& kernels, const Call& call) {
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

  DeviceView take_vector(Bytes bytes) override {
    const Bytes at = plan_.vectors;
    plan_.vectors += round_up(bytes, LaneRoom::kAlignment);
    if (lane_ == nullptr) return {LaneRoom::kAlignment, bytes};
    CASYNC_CHECK(plan_.vectors <= room_.vectors);
    return lane_->memory->device().slice(at, bytes);
  }

  /// Pinned memory for a plain payload, until the task has ended.
  View take_plain(Bytes bytes) {
    const Bytes at = plan_.plain;
    plan_.plain += round_up(bytes, LaneRoom::kAlignment);
    if (lane_ == nullptr) return {};
    CASYNC_CHECK(plan_.plain <= room_.plain);
    return lane_->pinned->view().slice(room_.call_at(LaneRoom::kMostCalls) + at, bytes);
  }

  Status copy(DeviceView from, DeviceView to) override {
    return lane_ == nullptr ? Status::ok() : lane_->stream->copy(from, to);
  }

  Status wait_for_gradient() {
    if (lane_ == nullptr || run_->ready == nullptr) return Status::ok();
    return lane_->stream->wait_for(*run_->ready);
  }
  Status upload(BufferId from, DeviceView to) {
    if (lane_ == nullptr) return Status::ok();
    const GradientRun::BufferState& state = run_->state(from);
    return lane_->stream->upload({state.memory.data, state.bytes}, to.slice(0, state.bytes));
  }
  Status download(DeviceView from, View to) {
    return lane_ == nullptr ? Status::ok() : lane_->stream->download(from, {to.data, from.size()});
  }

  const LaneRoom& room_;
  DeviceLane* const lane_;
  std::vector<KernelTerm>& terms_;
  GradientRun* run_ = nullptr;
  LaneRoom plan_;
  std::size_t calls_ = 0;
};

}  // namespace

void LaneRoom::cover(const LaneRoom& other) {
  vectors = std::max(vectors, other.vectors);
  kernels = std::max(kernels, other.kernels);
  pinned = std::max(pinned, other.pinned);
  plain = std::max(plain, other.plain);
}

bool LaneRoom::covers(const LaneRoom& other) const {
  return vectors >= other.vectors && kernels >= other.kernels && pinned >= other.pinned && plain >= other.plain;
}

Result<LaneRoom> room_of(const LaneTasks& tasks, GradientRun& run, std::uint32_t task) {
  const LaneRoom none;
  std::vector<KernelTerm> terms;
  LaneQueue queue(tasks, none, nullptr, terms);
  CASYNC_RETURN_IF_ERROR(run.rounds ? queue.make_turn(run, task) : queue.make(run, TaskId(task)));
  return queue.plan();
}

Status queue_task(const LaneTasks& tasks, const LaneRoom& room, DeviceLane& lane) {
  lane.coder->begin();
  return LaneQueue(tasks, room, &lane, lane.terms).make(*lane.run, lane.task);
}

}  // namespace casync::runtime
