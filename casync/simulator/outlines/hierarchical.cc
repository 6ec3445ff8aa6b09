// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/outlines/outlines.h"

namespace casync {

void hierarchical_outline(OutlineWriter& out, bool coded_terms) {
  using Kind = Stage::Kind;
  const Bytes elements = out.bytes(coded_terms ? Hop::kFirst : Hop::kRaw);
  const double of_delegate = out.of_round() / out.each();  // partitions that a rank is its node's delegate for
  const double delegate_rest = OutlineWriter::rest_of(of_delegate), rest = out.rest(), share = out.share();
  const int others = out.each() - 1, other_nodes = out.nodes() - 1;
  const int at_port = other_nodes * (out.profile().node_shares_port ? out.each() : 1);
  if (coded_terms) out.codec(Kind::kEncode, out.of_round(), out.encode_s());
  if (others > 0) {
    out.send(false, of_delegate * others, elements, delegate_rest * others * out.arriving_from(false, elements, others),
             others);
  }
  const double together = coded_terms ? out.each() : 1;
  if (out.nodes() > 1) {
    if (coded_terms) {
      out.next_hop();
    } else if (others > 0) {
      const double merge = out.merge_s(others, Hop::kRaw, true, Hop::kFirst);
      out.gathering(of_delegate, merge, delegate_rest * merge);
    } else {
      out.codec(Kind::kEncode, out.of_round() * other_nodes / out.nodes(), out.encode_s());
    }
    out.send(true, together * of_delegate * other_nodes / out.nodes(), out.there(),
             together * rest * other_nodes * out.arriving_from(true, out.there(), at_port), at_port);
    const double merge =
        coded_terms ? out.merge_of_codes_s() : out.merge_s(other_nodes, Hop::kFirst, true, Hop::kSecond);
    out.gathering(share, merge, rest * merge);
    out.send(true, share * other_nodes, out.back(), rest * other_nodes * out.leaving_to(true, out.back(), at_port),
             at_port);
  } else {
    const double merge = coded_terms ? out.merge_of_codes_s() : out.merge_s(others, Hop::kRaw, true, Hop::kSecond);
    out.gathering(of_delegate, merge, delegate_rest * merge);
  }
  if (others > 0) {
    out.send(false, of_delegate * others, out.back(),
             delegate_rest * others * out.leaving_to(false, out.back(), others), others);
  }
  out.codec(Kind::kDecode, out.of_round(), out.decode_s());
}

}  // namespace casync
