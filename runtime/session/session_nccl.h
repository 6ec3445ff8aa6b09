// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "base/status.h"
#include "casync/model/plan.h"
#include "runtime/collective/round_transport.h"
#include "runtime/control/group/group.h"
#include "runtime/device/device.h"
#include "runtime/session/session.h"

namespace casync::runtime {

/// The transport whose messages match by order, and the one beside it for messages that have names.
inline constexpr const char* kNccl = "nccl";
inline constexpr const char* kBesideNccl = "ucx";

/// Refuses sessions that NCCL does not carry. InvalidArgument, with the reason and the remedy: gradients of the host, a
/// paced link, a coordinated plan, a credit.
Status check_over_nccl(const Device& device, const Plan& plan);

/// InvalidArgument: over NCCL a step of all ranks has all gradients, and this one was not submitted in it.
Status not_submitted(const GradientSpec& gradient, std::uint32_t step);

/// Unimplemented: a gradient that is reduced and scattered.
Status scattered_over_nccl(const GradientSpec& gradient);

/// Opens NCCL's communicator of a job on this stream. Collective. Errors as find_nccl, make_nccl_id and open_nccl; the
/// end of the job.
Result<std::unique_ptr<RoundTransport>> open_nccl_of(Group& group, Rank rank, int ranks, Stream& stream,
                                                     Clock::time_point deadline);

}  // namespace casync::runtime
