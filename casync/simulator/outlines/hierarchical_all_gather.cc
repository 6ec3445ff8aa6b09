// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/outlines/outlines.h"

namespace casync {

void hierarchical_all_gather_outline(OutlineWriter& out, bool coded_terms) {
  using Kind = Stage::Kind;
  const Bytes elements = out.bytes(coded_terms ? Hop::kFirst : Hop::kRaw);
  const Hop result = out.votes() ? Hop::kSecond : Hop::kRaw;
  const double of_delegate = out.of_round() / out.each();  // partitions that a rank is its node's delegate for
  const double delegate_rest = OutlineWriter::rest_of(of_delegate);
  const int others = out.each() - 1, other_nodes = out.nodes() - 1;
  const int at_port = other_nodes * (out.profile().node_shares_port ? out.each() : 1);
  if (coded_terms || others == 0) out.codec(Kind::kEncode, out.of_round(), out.encode_s());
  if (others > 0) {
    out.send(false, of_delegate * others, elements, delegate_rest * others * out.arriving_from(false, elements, others),
             others);
  }
  if (!coded_terms && others > 0) {
    const double merge = out.merge_s(others, Hop::kRaw, true, Hop::kFirst);
    out.gathering(of_delegate, merge, delegate_rest * merge);
  } else {
    out.next_hop();
  }
  if (other_nodes > 0) {
    const double together = coded_terms ? out.each() : 1;
    out.send(true, together * of_delegate * other_nodes, out.there(),
             together * delegate_rest * other_nodes * out.arriving_from(true, out.there(), at_port), at_port);
  }
  const double merge = out.merge_s(coded_terms ? out.ranks() : out.nodes(), Hop::kFirst, false, result);
  out.gathering(of_delegate, merge, delegate_rest * merge);
  if (others > 0) {
    const Bytes back = out.bytes(result);
    out.send(false, of_delegate * others, back, delegate_rest * others * out.leaving_to(false, back, others), others);
  }
  if (out.votes() || out.tasks_cost()) {
    out.codec(Kind::kDecode, out.of_round(), out.votes() ? out.decode_s() : 0);  // raw elements are there
  }
}

}  // namespace casync
