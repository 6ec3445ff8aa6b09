// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "base/status.h"
#include "casync/model/gradient.h"
#include "casync/model/plan.h"
#include "runtime/control/group/group.h"

namespace casync::runtime::bench {

/// A job of many ranks on this machine, which pretend to be on nodes of `per_node` ranks.
struct Job {
  int ranks = 1024;
  int per_node = 8;
  int gradients = 400;
  std::string directory;  ///< of the rendezvous
};

/// Gradients of a large model: matrices of different sizes.
GradientSpec gradient_of(const Job& job, int index);
/// A plan with an entry for each gradient, as the planner writes it.
Plan plan_of(const Job& job);
/// Returns what the plan says about one of them.
Decision decision_of(const Job& job, int index);

/// When a rank had come in, began to compare, and knew that all agree. All processes of a machine share the clock.
struct Moments {
  Clock::time_point joined, asked, agreed;
};

/// One rank from its start to its end: joins, exchanges what a session exchanges when it opens, claims all gradients in
/// one claim, runs `meanwhile` once all have agreed, and leaves with all. The first thing that goes wrong is the
/// result.
Status run_rank(const Job& job, Rank rank, Moments& moments, const std::function<void(Group&)>& meanwhile);

}  // namespace casync::runtime::bench
