// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "casync/planner/search/request.h"

namespace casync {

/// One way for one gradient, if the plan decides all others.
struct Alternative {
  Decision decision;
  double alone_s = 0;     ///< from ready to done when nothing else goes on
  double wire_s = 0;      ///< for which a rank's port is busy
  double codec_s = 0;     ///< for which a rank's codec is busy
  double messages_s = 0;  ///< for which its processors are busy with messages
  double step_s = 0;      ///< of the whole step
  bool planned = false;
  bool allowed = true;  ///< within the request's limits; only the planned one may not be
  /// Other ways were simulated with the number of partitions nearest to the planned one, and with no other.
  bool nearest_partitions = false;
};

/// The plan's decision, and for each codec and strategy within the gradient's limits the number of partitions with
/// which the step is shortest. The shortest step first; of equal ones the soonest over alone. The planned step is
/// simulated with all ranks, as by simulate(), up to 1.5 million tasks; differences from it with one rank that stands
/// for all. With gossip and asynchronous ranks: drifting_alternatives.h. InvalidArgument: no gradient of that name
/// (with the nearest); else as simulate and all_options.
Result<std::vector<Alternative>> alternatives(const PlanRequest& request, const PlannedStep& step,
                                              const std::string& gradient);

/// The bandwidth below which compressing pays, alone on the cluster of `request`, by size: over sending as it is, with
/// codecs and strategies that go together within some gradient's limits, and that take as many steps to the same loss.
struct Crossover {
  std::vector<double> bytes_per_second;  ///< of the slowest link in use, ascending
  std::vector<double> bytes;             ///< of a float32 gradient, ascending
  struct Cell {
    Decision decision;  ///< the option that is over soonest
    double seconds = 0;
    double plain_s = 0;  ///< the soonest without compressing
  };
  std::vector<Cell> cells;                        ///< [bandwidth * sizes + size]
  std::vector<std::optional<double>> pays_below;  ///< by size: the bandwidth; empty: never pays
};
Result<Crossover> crossover(const PlanRequest& request, std::size_t bandwidths, std::size_t sizes);

}  // namespace casync
