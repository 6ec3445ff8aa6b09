// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "casync/patterns/tree.h"
#include "casync/simulator/outlines/outlines.h"

namespace casync {

void tree_outline(OutlineWriter& out, bool coded_terms) {
  using Kind = Stage::Kind;
  const double outside = out.nodes() > 1 ? out.tree_crossing() : 0, inside = out.ranks() - 1 - outside;
  const int levels = tree::bits(out.ranks() - 1), levels_outside = tree::bits(out.nodes() - 1);
  const int levels_inside = levels - levels_outside;
  // A rank has i children with probability 2^-(i+1); the way up passes one with 1, with 2, ... children.
  double busy = out.encode_s() / 2, chain = out.encode_s();
  if (coded_terms) busy = chain;
  for (int i = 1; i < levels && !coded_terms; ++i) {
    const double merge = out.merge_s(i, Hop::kFirst, true, Hop::kFirst);
    busy += merge * std::ldexp(1.0, -(i + 1));
    chain += merge;
  }
  out.codec(Kind::kEncode, out.of_round(), busy, std::max(0.0, chain - out.of_round() * busy / out.lumps()));
  const auto way = [&](bool between, double messages, int steps, Bytes bytes) {
    if (messages <= 0) return;
    Stage& sent = out.send(between, out.of_round() * messages / out.ranks(), bytes, 0, 1);
    sent.then_s = std::max(0, steps - 1) * sent.latency_s +
                  std::max(0.0, steps * out.leaving(between, bytes) - sent.seconds / out.lumps());
  };
  // Side by side a rank sends the codes of all that hang from it.
  const double together = coded_terms ? tree::mean_size(out.ranks()) : 1;
  way(false, together * inside, levels_inside, out.there());
  way(true, together * outside, levels_outside, out.there());
  const double last = coded_terms ? out.merge_of_codes_s() : out.merge_s(levels, Hop::kFirst, true, Hop::kSecond);
  out.next_hop();
  out.codec(Kind::kMerge, out.share(), last, last * out.rest());
  way(true, outside, levels_outside, out.back());
  way(false, inside, levels_inside, out.back());
  out.codec(Kind::kDecode, out.of_round(), out.decode_s());
}

}  // namespace casync
