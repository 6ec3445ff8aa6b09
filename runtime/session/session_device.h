// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "runtime/control/launch/launch.h"
#include "runtime/device/device.h"
#include "runtime/session/declarations.h"
#include "runtime/session/session.h"

namespace casync::runtime {

/// The device of this name: "cpu"; "cuda:1"; "cuda", a GPU for each rank of the machine: of the GPUs that this process
/// sees the one at `local_rank`, from the first again where ranks are more. InvalidArgument: no such name. Unavailable:
/// as make_cuda_device.
Result<std::unique_ptr<Device>> open_device(const std::string& name, int local_rank);

/// The device of a session. If it is not the host's, its pinned memory is bound (PinnedBound): by CASYNC_PINNED_MB,
/// else by half of the host's memory, of which each of the node's ranks has a share. InvalidArgument, besides:
/// CASYNC_PINNED_MB is no such number.
Result<std::unique_ptr<Device>> open_device(const SessionOptions& options, const Launch& launch);

/// InvalidArgument: the memory of this submission is not the session's device's, or cannot hold the gradient, or its
/// stream is captured into a graph. Unavailable: the device has failed.
Status check_memory(const Device& device, const GradientSpec& gradient, const Submission& submission);

/// A submission was refused because the device has failed, which ends the job: other ranks wait for the gradients.
inline bool has_failed_device(const Status& refused) { return refused.code() == StatusCode::kUnavailable; }

}  // namespace casync::runtime
