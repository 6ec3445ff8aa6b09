// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/outlines/outline_shape.h"

#include <algorithm>
#include <cmath>

namespace casync {
namespace {

constexpr int kLumps = 16;  ///< of a gradient: more than that changes a step by less than the outline's own error

}  // namespace

double rest_of(double share) { return 1 - std::min(share, 1.0); }

OutlineShape::OutlineShape(const Decision& decision, Elements elements, const AlikeRanks& alike)
    : ranks(alike.ranks),
      nodes(alike.nodes),
      each(ranks / nodes),
      owners(owner_count(decision.servers, ranks)),
      contributors(decision.servers.dedicated ? ranks - owners : ranks),
      tree_crossing(alike.tree_crossing),
      double_tree_crossing(alike.double_tree_crossing) {
  const auto wanted = static_cast<Elements>(std::max(decision.partitions, 1));
  const auto partitions = static_cast<double>(std::min(wanted, std::max<Elements>(elements, 1)));
  slice = static_cast<Elements>(std::llround(static_cast<double>(elements) / partitions));
  rounds = std::max(1.0, partitions / owners);
  of_round = partitions / rounds;
  share = of_round / owners;
  written = static_cast<int>(std::clamp(std::ceil(rounds - 1e-9), 1.0, kLumps / 2.0));
  lumps = static_cast<int>(std::clamp(std::floor(of_round), 1.0, static_cast<double>(kLumps) / written));
}

}  // namespace casync
