// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/outlines/outlines.h"

namespace casync {

/// With fewer owners than ranks this rank encodes as one that owns nothing, and merges as an owner.
void ps_outline(OutlineWriter& out, bool coded_terms) {
  using Kind = Stage::Kind;
  const bool all_own = out.owners() == out.ranks();
  const double others = out.of_round() * (out.ranks() - 1) / out.ranks();
  out.codec(Kind::kEncode, coded_terms || !all_own ? out.of_round() : others, out.encode_s());
  out.with_owners(out.there(), false);
  const bool own = !coded_terms && out.contributors() == out.ranks();
  const double merge = out.merge_s(out.contributors() - (own ? 1 : 0), Hop::kFirst, own, Hop::kSecond);
  out.gathering(out.share(), merge, out.rest() * merge);
  out.with_owners(out.back(), true);
  out.codec(Kind::kDecode, out.of_round(), out.decode_s());
}

}  // namespace casync
