// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "base/status.h"
#include "runtime/device/codec_kernels.h"
#include "runtime/device/device.h"

namespace casync::runtime {

/// The turns around an exchange of differences, on a device, as difference_gossip.cc has them for the host: of a rank
/// with copies of `members` ranks, its own at place `own`, that goes `part` of the way to each. Up to three members.
/// Errors: as Device::kernels().
Result<std::unique_ptr<TurnKernels>> make_difference_kernels(Device& device, std::size_t members, std::size_t own,
                                                             float part);

/// The same of the turns around a consensus, which sets the copies of `members` ranks.
Result<std::unique_ptr<TurnKernels>> make_consensus_kernels(Device& device, std::size_t members);

}  // namespace casync::runtime
