// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "casync/patterns/tree.h"
#include "casync/simulator/outlines/outlines.h"

namespace casync {

void tree_outline(OutlineWriter& out, bool coded_terms) {
  using Kind = Stage::Kind;
  const OutlineShape& shape = out.shape();
  const PartitionCosts& costs = out.costs();
  const double outside = shape.nodes > 1 ? shape.tree_crossing : 0, inside = shape.ranks - 1 - outside;
  const int levels = tree::bits(shape.ranks - 1), levels_outside = tree::bits(shape.nodes - 1);
  const int levels_inside = levels - levels_outside;
  // A rank has i children with probability 2^-(i+1); the way up passes one with 1, with 2, ... children.
  double busy = costs.encode_s() / 2, chain = costs.encode_s();
  if (coded_terms) busy = chain;
  for (int i = 1; i < levels && !coded_terms; ++i) {
    const double merge = costs.merge_s(i, Hop::kFirst, true, Hop::kFirst);
    busy += merge * std::ldexp(1.0, -(i + 1));
    chain += merge;
  }
  if (coded_terms || shape.ranks > 1) {
    out.codec(Kind::kEncode, shape.of_round, busy, std::max(0.0, chain - shape.of_round * busy / shape.lumps));
  }
  const auto way = [&](bool between, double messages, int steps, Bytes bytes) {
    if (messages <= 0) return;
    Stage& sent = out.send(between, shape.of_round * messages / shape.ranks, bytes, 0, 1);
    sent.then_s = std::max(0, steps - 1) * sent.latency_s +
                  std::max(0.0, steps * out.messages().leaving(between, bytes) - sent.seconds / shape.lumps);
  };
  // Side by side a rank sends the codes of all that hang from it.
  const double together = coded_terms ? tree::mean_size(shape.ranks) : 1;
  way(false, together * inside, levels_inside, costs.there());
  way(true, together * outside, levels_outside, costs.there());
  const double last = coded_terms ? costs.merge_of_codes_s() : costs.merge_s(levels, Hop::kFirst, true, Hop::kSecond);
  out.next_hop();
  out.codec(Kind::kMerge, shape.share, last, last * shape.rest());
  way(true, outside, levels_outside, costs.back());
  way(false, inside, levels_inside, costs.back());
  out.codec(Kind::kDecode, shape.of_round, costs.decode_s());
}

}  // namespace casync
