// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/outlines/outlines.h"

namespace casync {

void all_gather_outline(OutlineWriter& out, bool) {
  using Kind = Stage::Kind;
  const OutlineShape& shape = out.shape();
  const PartitionCosts& costs = out.costs();
  // As many lumps as partitions: each waits for the others' of the same only.
  const int inside = shape.each - 1, outside = shape.ranks - shape.each;
  const double of_round = shape.of_round;
  out.send_all_the_time();
  out.codec(Kind::kEncode, of_round, costs.encode_s());
  if (inside > 0) out.send(false, of_round * inside, costs.there(), 0, inside);
  if (outside > 0) {
    out.send(true, of_round * outside, costs.there(), 0, out.ports_of(true, outside));
  }
  out.next_hop();
  if (costs.votes()) {
    out.codec(Kind::kMerge, of_round, costs.merge_of_codes_s());
    out.codec(Kind::kDecode, of_round, costs.decode_s());
    return;
  }
  out.codec(Kind::kMerge, of_round, costs.merge_s(shape.ranks, Hop::kFirst, false, Hop::kSum));
  if (out.tasks_cost()) out.codec(Kind::kDecode, of_round, 0);  // the sum is there; what is left is a task
}

}  // namespace casync
