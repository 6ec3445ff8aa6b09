// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "base/status.h"
#include "casync/model/plan.h"
#include "casync/model/topology.h"

namespace casync::tools {

/// The result that every rank must hold after the first step of a gradient whose inputs are make_input(rank, elements).
/// Runs the graphs of all ranks here, one task after the other, with the codecs themselves and no network.
/// `first_owner` as make_graph. Errors as make_codec and make_graph.
Result<std::vector<float>> replay_first_step(const Decision& decision, const Topology& topology, Elements elements,
                                             std::size_t first_owner);

}  // namespace casync::tools
