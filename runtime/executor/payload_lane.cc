// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/payload_lane.h"

namespace casync::runtime {

Status PayloadQueue::upload_payload(BufferId from, DeviceView to) {
  if (lane_ == nullptr) return Status::ok();
  CASYNC_RETURN_IF_ERROR(check_for_kernels(*run_, from));
  const RunBuffers::State& state = run_->state(from);
  return upload({state.memory.data, state.bytes}, to);
}

Status PayloadQueue::make_payload(const compll::Codec& codec, BufferId to, KernelCall& call) {
  const Bytes head = codec.info().identity ? kDevicePayloadHead : 0;
  const Bytes bound = run_->buffers.bound_of(to);
  call.payload = head == 0 ? take_payload(*run_, to) : take_vector(head + bound);
  CASYNC_RETURN_IF_ERROR(launch_encode(codec, call));
  if (lane_ == nullptr || compll::size_varies(codec)) return Status::ok();
  if (head != 0) {
    CASYNC_RETURN_IF_ERROR(lane_->stream->download(call.payload.slice(0, head), lane_->pinned->view().slice(0, head)));
  }
  return lane_->stream->download(call.payload.slice(head, bound), run_->state(to).memory);
}

}  // namespace casync::runtime
