// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "casync/patterns/binary_tree.h"
#include "casync/patterns/tree.h"
#include "casync/simulator/outlines/outlines.h"

namespace casync {

void double_tree_outline(OutlineWriter& out, bool coded_terms) {
  using Kind = Stage::Kind;
  const int ranks = out.ranks();
  const double outside = out.nodes() > 1 ? out.double_tree_crossing() : 0, inside = ranks - 1 - outside;
  const int levels = binary_tree::height(ranks);
  const int levels_outside = std::min(levels, tree::bits(out.nodes() - 1)), levels_inside = levels - levels_outside;
  const int children = std::min(2, ranks - 1);  // of an inner node: it serves one after the other
  const double sends = (1 + children) / 2.0;    // until a message leaves, on average
  // Half of the ranks are leaves of a partition's tree; all others but the root merge and encode again.
  const double leaves = (ranks + 1) / 2;
  const double merge = out.merge_s(children, Hop::kFirst, true, Hop::kFirst);
  double busy = (leaves * out.encode_s() + (ranks - leaves - 1) * merge) / ranks;
  double chain = out.encode_s() + std::max(0, levels - 1) * merge;
  if (ranks == 1) busy = chain = 0;
  if (coded_terms) busy = chain = out.encode_s();
  out.codec(Kind::kEncode, out.of_round(), busy, std::max(0.0, chain - out.of_round() * busy / out.lumps()));
  const auto way = [&](bool between, double messages, int steps, Bytes bytes) {
    if (messages <= 0) return;
    Stage& sent = out.send(between, out.of_round() * messages / ranks, bytes, 0, 1);
    sent.then_s = std::max(0, steps - 1) * sent.latency_s +
                  std::max(0.0, sends * steps * out.leaving(between, bytes) - sent.seconds / out.lumps());
  };
  // Side by side a rank sends the codes of all that hang from it.
  const double together = coded_terms && ranks > 1 ? binary_tree::mean_depth(ranks) * ranks / (ranks - 1) : 1;
  way(false, together * inside, levels_inside, out.there());
  way(true, together * outside, levels_outside, out.there());
  const double last = coded_terms ? out.merge_of_codes_s() : out.merge_s(children, Hop::kFirst, true, Hop::kSecond);
  out.next_hop();
  out.codec(Kind::kMerge, out.share(), last, last * out.rest());
  way(true, outside, levels_outside, out.back());
  way(false, inside, levels_inside, out.back());
  out.codec(Kind::kDecode, out.of_round(), out.decode_s());
}

}  // namespace casync
