// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/outlines/outlines.h"

namespace casync {

void hierarchical_all_gather_outline(OutlineWriter& out, bool coded_terms) {
  using Kind = Stage::Kind;
  const OutlineShape& shape = out.shape();
  const PartitionCosts& costs = out.costs();
  const Bytes elements = costs.bytes(coded_terms ? Hop::kFirst : Hop::kRaw);
  const Hop result = costs.votes() ? Hop::kSecond : Hop::kRaw;
  const double of_delegate = shape.of_round / shape.each;  // partitions that a rank is its node's delegate for
  const double delegate_rest = rest_of(of_delegate);
  const int others = shape.each - 1, other_nodes = shape.nodes - 1;
  if (coded_terms || others == 0) out.codec(Kind::kEncode, shape.of_round, costs.encode_s());
  if (others > 0) {
    out.send(false, of_delegate * others, elements,
             delegate_rest * others * out.messages().arriving_from(false, elements, others), others);
  }
  if (!coded_terms && others > 0) {
    const double merge = costs.merge_s(others, Hop::kRaw, true, Hop::kFirst);
    out.gathering(of_delegate, merge, delegate_rest * merge);
  } else {
    out.next_hop();
  }
  if (other_nodes > 0) {
    const double together = coded_terms ? shape.each : 1;
    out.send(true, together * of_delegate * other_nodes, costs.there(),
             together * delegate_rest * other_nodes * out.messages().arriving_from(true, costs.there(), other_nodes),
             other_nodes);
  }
  const double merge = costs.merge_s(coded_terms ? shape.ranks : shape.nodes, Hop::kFirst, false, result);
  out.gathering(of_delegate, merge, delegate_rest * merge);
  if (others > 0) {
    const Bytes back = costs.bytes(result);
    out.send(false, of_delegate * others, back, delegate_rest * others * out.messages().leaving_to(false, back, others),
             others);
  }
  if (costs.votes() || out.tasks_cost()) {
    out.codec(Kind::kDecode, shape.of_round, costs.votes() ? costs.decode_s() : 0);  // raw elements are there
  }
}

}  // namespace casync
