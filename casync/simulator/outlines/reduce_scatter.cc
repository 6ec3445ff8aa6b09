// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/outlines/outlines.h"

namespace casync {

/// Every rank owns as much. The answers, which have no elements, cost a message each.
void reduce_scatter_outline(OutlineWriter& out, bool coded_terms) {
  using Kind = Stage::Kind;
  const double others = out.of_round() * (out.ranks() - 1) / out.ranks();
  out.codec(Kind::kEncode, coded_terms ? out.of_round() : others, out.encode_s());
  out.with_owners(out.there(), false);
  const Hop to = out.votes() ? Hop::kSecond : Hop::kSum;
  const double merge = out.merge_s(out.ranks() - (coded_terms ? 0 : 1), Hop::kFirst, !coded_terms, to);
  out.gathering(out.share(), merge, out.rest() * merge);
  out.with_owners(0, true);
  if (out.votes()) out.codec(Kind::kDecode, out.share(), out.decode_s());
}

}  // namespace casync
