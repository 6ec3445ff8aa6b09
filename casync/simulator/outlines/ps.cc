// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/outlines/outlines.h"

namespace casync {

void ps_outline(OutlineWriter& out, bool coded_terms) {
  using Kind = Stage::Kind;
  const double others = out.of_round() * (out.ranks() - 1) / out.ranks();
  out.codec(Kind::kEncode, coded_terms ? out.of_round() : others, out.encode_s());
  out.with_owners(out.there(), false);
  const int coded = coded_terms ? out.ranks() : out.ranks() - 1;
  const double merge = out.merge_s(coded, Hop::kFirst, !coded_terms, Hop::kSecond);
  out.gathering(out.share(), merge, out.rest() * merge);
  out.with_owners(out.back(), true);
  out.codec(Kind::kDecode, out.of_round(), out.decode_s());
}

}  // namespace casync
