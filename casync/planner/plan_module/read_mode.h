// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "casync/model/plan.h"
#include "proto/placed.h"
#include "proto/plan.pb.h"

namespace casync {

constexpr std::int64_t kMostSteps = 1'000'000'000;  ///< that a plan may name; a training has fewer

/// The way in which a plan's steps follow each other: `staleness`, `local_sgd`, `gossip` or `asynchronous`. Refuses two
/// of them together.
SyncMode read_mode(const proto::Placed<plan::v1::Plan>& from);

}  // namespace casync
