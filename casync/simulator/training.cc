// SPDX-License-Identifier: Apache-2.0
#include "casync/simulator/training.h"

#include <algorithm>

namespace casync {

double Training::slowness_of(Rank rank) const {
  const auto found = std::find_if(slow.begin(), slow.end(), [&](const SlowRank& one) { return one.rank == rank; });
  return found == slow.end() ? 1 : found->factor;
}

double drawn_for(std::uint64_t seed, std::uint64_t rank, std::uint64_t step) {
  std::uint64_t x = seed;
  for (const std::uint64_t word : {rank, step}) {
    x += 0x9e3779b97f4a7c15u * (word + 1);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    x ^= x >> 31;
  }
  return static_cast<double>(x >> 11) * 0x1p-53;
}

}  // namespace casync
