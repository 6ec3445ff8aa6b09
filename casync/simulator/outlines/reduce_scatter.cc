// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/outlines/outlines.h"

namespace casync {

/// Every rank owns as much. The answers, which have no elements, cost a message each.
void reduce_scatter_outline(OutlineWriter& out, bool coded_terms) {
  using Kind = Stage::Kind;
  const OutlineShape& shape = out.shape();
  const PartitionCosts& costs = out.costs();
  const double others = shape.of_round * (shape.ranks - 1) / shape.ranks;
  out.codec(Kind::kEncode, coded_terms ? shape.of_round : others, costs.encode_s());
  out.with_owners(costs.there(), false);
  const Hop to = costs.votes() ? Hop::kSecond : Hop::kSum;
  const double merge = costs.merge_s(shape.ranks - (coded_terms ? 0 : 1), Hop::kFirst, !coded_terms, to);
  out.gathering(shape.share, merge, shape.rest() * merge);
  out.with_owners(0, true);
  if (costs.votes()) out.codec(Kind::kDecode, shape.share, costs.decode_s());
}

}  // namespace casync
