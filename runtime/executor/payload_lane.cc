// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/payload_lane.h"

namespace casync::runtime {

Status PayloadQueue::bring_term(BufferId from) {
  DeviceView at;
  CASYNC_RETURN_IF_ERROR(bring(from, &at));
  lists_.terms.push_back(run_->codec_of(from).info().identity ? KernelTerm{{}, at} : KernelTerm{at, {}});
  return Status::ok();
}

Status PayloadQueue::bring(BufferId from, DeviceView* to) {
  const compll::PayloadCoding* const coding = compll::coding_of(run_->codec_of(from));
  if (coding == nullptr) {
    *to = take_vector(run_->bound_of(from));
    return upload_payload(from, *to);
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

Status PayloadQueue::make_payload(const compll::Codec& codec, BufferId to, KernelCall& call) {
  if (const compll::PayloadCoding* coding = compll::coding_of(codec)) return make_coded(codec, *coding, to, call);
  const Bytes head = codec.info().identity ? kDevicePayloadHead : 0;
  const Bytes bound = run_->bound_of(to);
  call.payload = take_vector(head + bound);
  CASYNC_RETURN_IF_ERROR(launch_encode(codec, call));
  if (lane_ == nullptr) return Status::ok();
  if (head != 0) {
    CASYNC_RETURN_IF_ERROR(lane_->stream->download(call.payload.slice(0, head), lane_->pinned->view().slice(0, head)));
  }
  return lane_->stream->download(call.payload.slice(head, bound), run_->state(to).memory);
}

Status PayloadQueue::make_coded(const compll::Codec& codec, const compll::PayloadCoding& coding, BufferId to,
                                KernelCall& call) {
  const Bytes bytes = coding.plain().encoded_bound(call.n);
  const View plain = take_plain(bytes);
  call.payload = take_vector(bytes);
  CASYNC_RETURN_IF_ERROR(launch_encode(codec, call));
  CASYNC_RETURN_IF_ERROR(download(call.payload, plain));
  if (lane_ == nullptr) return Status::ok();
  return lane_->coder->write(coding, call.n, plain, run_->state(to).memory, *lane_->stream);
}

Status PayloadQueue::upload_payload(BufferId from, DeviceView to) {
  if (lane_ == nullptr) return Status::ok();
  const GradientRun::BufferState& state = run_->state(from);
  return upload({state.memory.data, state.bytes}, to);
}

}  // namespace casync::runtime
