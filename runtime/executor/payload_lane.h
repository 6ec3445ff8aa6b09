// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "compll/codec/coded/coded_codec.h"
#include "runtime/executor/lane_queue.h"

namespace casync::runtime {

/// The payloads of one gradient on a lane: from pinned memory to the device, and back.
///
/// Threads: the progress thread.
class PayloadQueue : public LaneQueue {
 protected:
  using LaneQueue::LaneQueue;
  ~PayloadQueue() = default;

  /// Copies a payload to the device, and lists it as a term. An identity's is raw elements, of float32.
  Status bring_term(BufferId from);
  /// Copies a payload to the device, without its coding.
  Status bring(BufferId from, DeviceView* to);
  Status upload_payload(BufferId from, DeviceView to);
  /// Launches a call that encodes, and copies its payload to the buffer. An identity's elements leave without their
  /// head, which says if they are finite, and which the beginning of the lane's pinned memory gets.
  Status make_payload(const compll::Codec& codec, BufferId to, KernelCall& call);

  GradientRun* run_ = nullptr;

 private:
  /// Launches the call that make_payload() has given a payload.
  virtual Status launch_encode(const compll::Codec& codec, const KernelCall& call) {
    return launch_keeping(*run_, codec, call);
  }
  Status make_coded(const compll::Codec& codec, const compll::PayloadCoding& coding, BufferId to, KernelCall& call);
};

}  // namespace casync::runtime
