// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "casync/model/plan.h"
#include "casync/model/topology.h"

namespace casync::tools {

/// The source of random codecs' numbers in a step of one gradient.
struct ReplayedStep {
  std::uint64_t seed = 0;  ///< the plan's
  std::uint64_t key = 0;   ///< the gradient's, as runtime::key_of
  std::uint32_t number = 0;
};

/// The result that every rank must hold after a gradient's first step, whose inputs are make_input(rank, elements).
/// Runs the graphs of all ranks here, one task after the other, with the codecs themselves and no network.
/// `first_owner` as make_graph. Errors as make_codec and make_graph.
Result<std::vector<float>> replay_first_step(const Decision& decision, const Topology& topology, Elements elements,
                                             std::size_t first_owner, const ReplayedStep& step);

}  // namespace casync::tools
