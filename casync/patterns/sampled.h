// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "base/units.h"

namespace casync {

/// A long gradient's sample: so many pieces, each of so many elements. Codecs' blocks are shorter and divide it.
inline constexpr std::size_t kSampledPieces = 4;
inline constexpr Elements kSampledPiece = 4096;

/// Number of sampled elements from which a codec's loss on a gradient is estimated; a short gradient is used whole.
constexpr Elements sampled_elements(Elements elements) { return std::min(elements, kSampledPieces * kSampledPiece); }

/// The first element of piece `index` of the sample. Pieces are in order, do not overlap, begin at multiples of
/// kSampledPiece, so that blocks stay whole, and are spread over the gradient; each has kSampledPiece elements, or what
/// there is up to the gradient's end.
constexpr Elements sampled_begin(Elements elements, std::size_t index) {
  const Elements begin = index * kSampledPiece;
  if (elements <= kSampledPieces * kSampledPiece) return begin;
  return (elements - kSampledPiece) / (kSampledPieces - 1) * index / kSampledPiece * kSampledPiece;
}

/// Calls visit(first, count, at) for each piece: elements `first` and on of the gradient stand at `at` of the sample.
template <class Visit>
constexpr void for_each_sampled(Elements elements, const Visit& visit) {
  const Elements all = sampled_elements(elements);
  for (std::size_t i = 0; i * kSampledPiece < all; ++i) {
    visit(sampled_begin(elements, i), std::min(kSampledPiece, all - i * kSampledPiece), i * kSampledPiece);
  }
}

}  // namespace casync
