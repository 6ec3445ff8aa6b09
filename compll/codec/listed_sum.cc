// SPDX-License-Identifier: Apache-2.0
#include "compll/codec/listed_sum.h"

#include <algorithm>
#include <functional>

#include "base/check.h"
#include "compll/ops/cpu/linear.h"

namespace casync::compll {
namespace {

/// The first from `next` on whose place is not before `first`: in few steps where it is near.
Elements find_from(const ListedVector& list, Elements next, Elements first) {
  Elements step = 1;
  for (; next + step <= list.count && list.places[next + step - 1] < first; step *= 2) next += step;
  const std::uint32_t* const end = list.places + std::min(next + step, list.count);
  return static_cast<Elements>(std::lower_bound(list.places + next, end, first) - list.places);
}

}  // namespace

bool ListedSum::add(ListedVector list) {
  const auto is_outside = [this](std::uint32_t place) { return place >= n_; };
  const std::uint32_t* const end = list.places + list.count;
  const std::uint32_t* const inside = std::find_if(list.places, end, is_outside);
  if (!std::all_of(inside, end, is_outside)) return false;
  if (std::adjacent_find(list.places, inside, std::greater_equal<>()) != inside) return false;
  list.count = static_cast<Elements>(inside - list.places);
  terms_[size_++] = {nullptr, list, 0};
  return true;
}

void ListedSum::sum(const Tile& tile, float* out) {
  const Elements end = tile.first + tile.count;
  const bool again = tile.first < reached_;
  for (std::size_t t = 0; t < size_; ++t) {
    Term& term = terms_[t];
    if (term.raw != nullptr) {
      const float* const raw = term.raw + tile.first;
      t == 0 ? copy_values(raw, tile.count, out, Write::kPlain) : add_values(raw, tile.count, out);
      continue;
    }
    const ListedVector& list = term.list;
    Elements next = find_from(list, again ? 0 : term.next, tile.first);
    if (t == 0) std::fill_n(out, tile.count, 0.0f);
    for (; next < list.count && list.places[next] < end; ++next) {
      float& at = out[list.places[next] - tile.first];
      // Assigns instead of adding the value to 0: that would lose the sign of a zero.
      at = t == 0 ? list.values[next] : at + list.values[next];
    }
    term.next = next;
  }
  reached_ = end;
}

const float* ListedSum::make(Elements first, Elements count) {
  CASYNC_CHECK(count <= kMostMade);
  sum({n_, first, std::min(count, n_ - first)}, made_);
  return made_;
}

}  // namespace casync::compll
