// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/outlines/partition_costs.h"

namespace casync {

double PartitionCosts::merge_s(int coded, Hop from, bool own, Hop to) const {
  const double copies = coded * of(from).upload(slice_) + of(to).download(slice_);
  return copies + CodecCosts::merge_alike(slice_, coded, of(from), own ? &of(Hop::kSum) : nullptr, of(to));
}

double PartitionCosts::shared_s(Stage::Kind kind) const {
  const CodecCosts& first = of(Hop::kFirst);
  if (!first.on_device()) return 0;
  switch (kind) {
    case Stage::Kind::kEncode: return first.encode(0);
    case Stage::Kind::kMerge: return CodecCosts::merge_alike(0, 1, first, nullptr, of(Hop::kSecond));
    default: return of(Hop::kSecond).decode(0);
  }
}

}  // namespace casync
