// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "casync/patterns/binary_tree.h"
#include "casync/patterns/tree.h"
#include "casync/simulator/outlines/outlines.h"

namespace casync {

void double_tree_outline(OutlineWriter& out, bool coded_terms) {
  using Kind = Stage::Kind;
  const OutlineShape& shape = out.shape();
  const PartitionCosts& costs = out.costs();
  const int ranks = shape.ranks;
  const double outside = shape.nodes > 1 ? shape.double_tree_crossing : 0, inside = ranks - 1 - outside;
  const int levels = binary_tree::height(ranks);
  const int levels_outside = std::min(levels, tree::bits(shape.nodes - 1)), levels_inside = levels - levels_outside;
  const int children = std::min(2, ranks - 1);  // of an inner node: it serves one after the other
  const double sends = (1 + children) / 2.0;    // until a message leaves, on average
  // Half of the ranks are leaves of a partition's tree; all others but the root merge and encode again.
  const double leaves = (ranks + 1) / 2;
  const double merge = costs.merge_s(children, Hop::kFirst, true, Hop::kFirst);
  double busy = (leaves * costs.encode_s() + (ranks - leaves - 1) * merge) / ranks;
  double chain = costs.encode_s() + std::max(0, levels - 1) * merge;
  if (coded_terms) busy = chain = costs.encode_s();
  if (coded_terms || ranks > 1) {
    out.codec(Kind::kEncode, shape.of_round, busy, std::max(0.0, chain - shape.of_round * busy / shape.lumps));
  }
  const auto way = [&](bool between, double messages, int steps, Bytes bytes) {
    if (messages <= 0) return;
    Stage& sent = out.send(between, shape.of_round * messages / ranks, bytes, 0, 1);
    sent.then_s = std::max(0, steps - 1) * sent.latency_s +
                  std::max(0.0, sends * steps * out.messages().leaving(between, bytes) - sent.seconds / shape.lumps);
  };
  // Side by side a rank sends the codes of all that hang from it.
  const double together = coded_terms && ranks > 1 ? binary_tree::mean_depth(ranks) * ranks / (ranks - 1) : 1;
  way(false, together * inside, levels_inside, costs.there());
  way(true, together * outside, levels_outside, costs.there());
  const double last = coded_terms ? costs.merge_of_codes_s() : costs.merge_s(children, Hop::kFirst, true, Hop::kSecond);
  out.next_hop();
  out.codec(Kind::kMerge, shape.share, last, last * shape.rest());
  way(true, outside, levels_outside, costs.back());
  way(false, inside, levels_inside, costs.back());
  out.codec(Kind::kDecode, shape.of_round, costs.decode_s());
}

}  // namespace casync
