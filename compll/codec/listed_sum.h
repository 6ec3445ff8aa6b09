// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "compll/codec/tile_codec.h"
#include "compll/ops/generated.h"
#include "compll/ops/scaled.h"

namespace casync::compll {

/// The sum of raw elements and of vectors that are lists of places and values: what decode and decode_add give one
/// after the other, without an image of it all in memory. Quickest where it is asked for in order.
class ListedSum final : public TileSums, public MadeValues {
 public:
  /// One term: elements, or a list.
  struct Term {
    const float* raw = nullptr;
    ListedVector list;
    Elements next = 0;  ///< of the list, the first that is not before the place up to which all has been summed
  };
  static constexpr Elements kMostMade = 4096;

  /// Of n elements each. `terms` is where they are kept, and has place for all of them; `made` for kMostMade elements.
  ListedSum(std::span<Term> terms, Elements n, float* made) : terms_(terms), n_(n), made_(made) {}

  void add(const float* raw) { terms_[size_++] = {raw, {}, 0}; }

  /// False: its places are not each larger than the one before, so that it cannot be gone through by tiles. Places
  /// outside of the vector say nothing; only the last ones may be.
  bool add(ListedVector list);

  void sum(const Tile& tile, float* out) override;
  const float* make(Elements first, Elements count) override;

 private:
  std::span<Term> terms_;
  std::size_t size_ = 0;
  Elements n_;
  Elements reached_ = 0;  ///< what was summed last ends there
  float* made_;
};

}  // namespace casync::compll
