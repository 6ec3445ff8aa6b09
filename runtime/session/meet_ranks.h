// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "runtime/session/session_parts.h"

namespace casync::runtime {

/// Meets the other ranks in the group that these parts have joined: compares versions, plans, heartbeats and kinds of
/// devices, makes the executor and learns the topology. Collective. Returns the executors' addresses by rank; nothing
/// is connected yet. InvalidArgument: ranks that differ, a variable of the environment that is none, ranks in several
/// processes that the transport does not join. Else as Group::agree, make_transport, open_nccl_of.
Result<std::vector<std::string>> meet_ranks(SessionParts& parts);

}  // namespace casync::runtime
