// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/outlines/outlines.h"

namespace casync {

/// With fewer owners than ranks this rank encodes as one that owns nothing, and merges as an owner.
void ps_outline(OutlineWriter& out, bool coded_terms) {
  using Kind = Stage::Kind;
  const OutlineShape& shape = out.shape();
  const PartitionCosts& costs = out.costs();
  const bool all_own = shape.owners == shape.ranks;
  const double others = shape.of_round * (shape.ranks - 1) / shape.ranks;
  out.codec(Kind::kEncode, coded_terms || !all_own ? shape.of_round : others, costs.encode_s());
  out.with_owners(costs.there(), false);
  const bool own = !coded_terms && shape.contributors == shape.ranks;
  const double merge = costs.merge_s(shape.contributors - (own ? 1 : 0), Hop::kFirst, own, Hop::kSecond);
  out.gathering(shape.share, merge, shape.rest() * merge);
  out.with_owners(costs.back(), true);
  out.codec(Kind::kDecode, shape.of_round, costs.decode_s());
}

}  // namespace casync
