// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/status.h"
#include "base/units.h"
#include "casync/model/plan.h"
#include "casync/simulator/simulate.h"

namespace casync {

/// Which ranks do the same at the same time: when all ranks move on by `period` places, each falls onto one with the
/// same tasks, messages and links. Then the first `period` ranks stand for all, exactly: what one of them sends to a
/// rank further on comes to it as the same message does to that rank's representative.
struct Symmetry {
  int ranks = 1;
  int period = 1;  ///< divides `ranks`; as many: no rank is like another

  bool is_trivial() const { return period == ranks; }

  Rank representative(Rank rank) const { return rank % period; }
  /// Where `rank` comes to when `other` moves back to its representative.
  Rank moved_with(Rank other, Rank rank) const { return (rank - (other - representative(other)) + ranks) % ranks; }
  /// What `partition` comes to then. Owners take turns, so a partition moves on with its owner, among those of one
  /// round; where all merge everything, partitions stay.
  std::uint32_t partition_moved_with(Rank other, std::uint32_t partition, StrategyKind strategy) const;
};

/// Of a scenario whose numbers have been checked. Trivial where ranks have graphs that differ by more than names, or
/// are to differ, or are all asked for. Errors as rounds_of, naming the gradient.
Result<Symmetry> symmetry_of(const Scenario& scenario, const SimulationOptions& options);

/// No fewer tasks than the ranks that stand for all have in a step. Errors as symmetry_of.
Result<double> tasks_at_most(const Scenario& scenario, const Symmetry& symmetry);

}  // namespace casync
