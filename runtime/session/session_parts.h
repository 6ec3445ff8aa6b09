// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <memory>

#include "base/clock.h"
#include "casync/model/plan.h"
#include "casync/model/topology.h"
#include "runtime/control/group/group.h"
#include "runtime/control/launch/launch.h"
#include "runtime/device/device.h"
#include "runtime/device/pinned_bound.h"
#include "runtime/executor/executor.h"
#include "runtime/session/rank_paces.h"
#include "runtime/session/session.h"

namespace casync::runtime {

/// Everything that a session is opened with and connected to. Only the thread that opens the session writes to it; any
/// thread reads it afterwards.
struct SessionParts {
  SessionParts(const SessionOptions& wanted, Launch found, Plan made, std::unique_ptr<Device> opened);

  /// The end of a wait that begins now.
  Clock::time_point deadline() const { return after(Seconds(options.timeout_s)); }
  /// Time of a wait after which the log says for what.
  Seconds stall() const { return std::min(Seconds(30), Seconds(options.timeout_s / 10)); }
  bool over_nccl() const;
  /// Leaves what the executor's threads, or a device, still use to them: nothing of it is destroyed.
  void leave_to_threads();

  const SessionOptions options;
  const Launch launch;
  const Plan plan;
  Topology topology;
  double ranks_per_processor = 1;          ///< that compete for each processor of this rank
  Seconds dead{};                          ///< time that a rank may be silent
  std::unique_ptr<Timeline> timeline;      ///< null: no trace is written
  const std::shared_ptr<RankPaces> paces;  ///< also of a session around this one
  std::unique_ptr<Device> device;
  const PinnedBound* const pinned;     ///< device, where pinned memory is bound; else null
  std::unique_ptr<Executor> executor;  // above group, whose callbacks use it until the group is gone
  std::unique_ptr<Group> group;
};

}  // namespace casync::runtime
