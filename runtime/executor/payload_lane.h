// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "base/status.h"
#include "runtime/executor/lane_queue.h"

namespace casync::runtime {

/// The payloads of one gradient on a lane: from pinned memory to the device, and back.
///
/// Threads: the progress thread.
class PayloadQueue : public LaneQueue {
 protected:
  using LaneQueue::LaneQueue;
  ~PayloadQueue() = default;

  /// Copies a payload to the device once the host has looked at it.
  Status upload_payload(BufferId from, DeviceView to);
  /// Launches a call that encodes, and copies its payload to the buffer, where one with coded sections is made at once.
  /// An identity's elements leave without their head, which says if they are finite, and which the beginning of the
  /// lane's pinned memory gets.
  Status make_payload(const compll::Codec& codec, BufferId to, KernelCall& call);

  GradientRun* run_ = nullptr;

 private:
  /// Launches the call that make_payload() has given a payload.
  virtual Status launch_encode(const compll::Codec& codec, const KernelCall& call) {
    return launch_keeping(*run_, codec, call);
  }
};

}  // namespace casync::runtime
