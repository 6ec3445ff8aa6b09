// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/outlines/outlines.h"

namespace casync {

void hierarchical_outline(OutlineWriter& out, bool coded_terms) {
  using Kind = Stage::Kind;
  const OutlineShape& shape = out.shape();
  const PartitionCosts& costs = out.costs();
  const Bytes elements = costs.bytes(coded_terms ? Hop::kFirst : Hop::kRaw);
  const double of_delegate = shape.of_round / shape.each;  // partitions that a rank is its node's delegate for
  const double delegate_rest = rest_of(of_delegate), rest = shape.rest(), share = shape.share;
  const int others = shape.each - 1, other_nodes = shape.nodes - 1;
  if (coded_terms) out.codec(Kind::kEncode, shape.of_round, costs.encode_s());
  if (others > 0) {
    out.send(false, of_delegate * others, elements,
             delegate_rest * others * out.messages().arriving_from(false, elements, others), others);
  }
  const double together = coded_terms ? shape.each : 1;
  if (shape.nodes > 1) {
    if (coded_terms) {
      out.next_hop();
    } else if (others > 0) {
      const double merge = costs.merge_s(others, Hop::kRaw, true, Hop::kFirst);
      out.gathering(of_delegate, merge, delegate_rest * merge);
    } else {
      out.codec(Kind::kEncode, shape.of_round * other_nodes / shape.nodes, costs.encode_s());
    }
    out.send(true, together * of_delegate * other_nodes / shape.nodes, costs.there(),
             together * rest * other_nodes * out.messages().arriving_from(true, costs.there(), other_nodes),
             other_nodes);
    const double merge =
        coded_terms ? costs.merge_of_codes_s() : costs.merge_s(other_nodes, Hop::kFirst, true, Hop::kSecond);
    out.gathering(share, merge, rest * merge);
    out.send(true, share * other_nodes, costs.back(),
             rest * other_nodes * out.messages().leaving_to(true, costs.back(), other_nodes), other_nodes);
  } else {
    const double merge = coded_terms ? costs.merge_of_codes_s() : costs.merge_s(others, Hop::kRaw, true, Hop::kSecond);
    out.gathering(of_delegate, merge, delegate_rest * merge);
  }
  if (others > 0) {
    out.send(false, of_delegate * others, costs.back(),
             delegate_rest * others * out.messages().leaving_to(false, costs.back(), others), others);
  }
  out.codec(Kind::kDecode, shape.of_round, costs.decode_s());
}

}  // namespace casync
