// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/status.h"
#include "base/units.h"
#include "casync/model/plan.h"
#include "casync/simulator/simulate.h"

namespace casync {

/// The ranks that do the same at the same time: when all ranks move on by `period` places, each falls onto one with the
/// same tasks, messages and links. Then the first `period` ranks stand for all, exactly: a message of one of them to a
/// rank further on reaches it as the same message reaches that rank's representative.
struct Symmetry {
  int ranks = 1;
  int period = 1;  ///< divides `ranks`; equal to it: no rank is like another

  bool is_trivial() const { return period == ranks; }

  Rank representative(Rank rank) const { return rank % period; }
  /// The place of `rank` after `other` has moved back to its representative.
  Rank moved_with(Rank other, Rank rank) const { return (rank - (other - representative(other)) + ranks) % ranks; }
  /// The partition in the place of `partition` then. Owners take turns, so a partition moves with its owner within
  /// one round; if all ranks merge everything, partitions stay.
  std::uint32_t partition_moved_with(Rank other, std::uint32_t partition, StrategyKind strategy) const;
};

/// The symmetry of a checked scenario. Trivial if ranks have graphs that differ by more than names, or
/// are to differ, or are all requested. Errors as rounds_of, naming the gradient.
Result<Symmetry> symmetry_of(const Scenario& scenario, const SimulationOptions& options);

/// An upper bound of the tasks that the ranks that stand for all have in a step. Errors as symmetry_of.
Result<double> tasks_at_most(const Scenario& scenario, const Symmetry& symmetry);

}  // namespace casync
