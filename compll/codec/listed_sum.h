// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "compll/codec/tile_codec.h"
#include "compll/ops/generated.h"
#include "compll/ops/scaled.h"

namespace casync::compll {

/// The sum of raw elements and of vectors that are lists of places and values: equals decode and decode_add one
/// after the other, without an image of it all in memory. Fastest if read in order.
class ListedSum final : public TileSums, public MadeValues {
 public:
  /// One term: elements, or a list.
  struct Term {
    const float* raw = nullptr;
    ListedVector list;
    Elements next = 0;  ///< of the list, the first entry that is not before the place up to which all has been summed
  };
  static constexpr Elements kMostMade = 4096;

  /// A sum of terms of n elements each. `terms` stores them and has room for all, `made` for kMostMade elements.
  ListedSum(std::span<Term> terms, Elements n, float* made) : terms_(terms), n_(n), made_(made) {}

  void add(const float* raw) { terms_[size_++] = {raw, {}, 0}; }

  /// Adds a list. False: its places are not ascending, so that it cannot be read tile by tile. Places
  /// outside of the vector are ignored; only the last ones may be.
  bool add(ListedVector list);

  void sum(const Tile& tile, float* out) override;
  const float* make(Elements first, Elements count) override;

 private:
  std::span<Term> terms_;
  std::size_t size_ = 0;
  Elements n_;
  Elements reached_ = 0;  ///< the end of the last sum
  float* made_;
};

}  // namespace casync::compll
