// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "casync/simulator/outline.h"

namespace casync {

/// Bytes of a partition's codes, and the seconds in which codecs work on one.
class PartitionCosts {
 public:
  /// `costs` outlives this.
  PartitionCosts(const HopCosts& costs, Elements slice, int ranks) : costs_(costs), slice_(slice), ranks_(ranks) {}

  Bytes bytes(Hop hop) const { return of(hop).payload_bytes(slice_); }
  Bytes there() const { return bytes(Hop::kFirst); }
  Bytes back() const { return bytes(Hop::kSecond); }
  bool votes() const { return of(Hop::kFirst).facts().traits.votes; }

  /// Seconds of an encode and of a decode. Copies between a device and the host count as the codec's.
  double encode_s() const { return of(Hop::kFirst).encode(slice_) + of(Hop::kFirst).download(slice_); }
  double decode_s() const { return of(Hop::kSecond).decode(slice_) + of(Hop::kSecond).upload(slice_); }
  /// Seconds of a merge of `coded` codes and, if `own`, this rank's elements.
  double merge_s(int coded, Hop from, bool own, Hop to) const;
  /// Seconds of the merge of all ranks' codes.
  double merge_of_codes_s() const { return merge_s(ranks_, Hop::kFirst, false, Hop::kSecond); }
  /// The seconds of a task without elements, which those in a batch share.
  double shared_s(Stage::Kind kind) const;

 private:
  const CodecCosts& of(Hop hop) const { return costs_[static_cast<std::size_t>(hop)]; }

  const HopCosts& costs_;
  Elements slice_;
  int ranks_;
};

}  // namespace casync
