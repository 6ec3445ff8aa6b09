// SPDX-License-Identifier: Apache-2.0
//
// The order in which threads of emulated kernels run.
#include "tests/compll/cuda/emulated/launch.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <set>

#include "tests/compll/cuda/emulated/emulated.h"

namespace casync::compll::emulated {
namespace {

constexpr cuda::Grid kGrid = {4, 64, 0};
constexpr unsigned kAll = 4 * 64;

/// A sum of ones that is wrong if a thread runs between another one's load and store.
unsigned sum_with_a_race(Order order, std::uint64_t seed) {
  unsigned sum = 0;
  seed_random_order(seed);
  launch(
      [&] {
        const unsigned before = sum;
        __threadfence();
        sum = before + 1;
      },
      kGrid, order);
  return sum;
}

/// The same without a race, counted again behind a barrier of each block.
unsigned sum_without(Order order, std::uint64_t seed) {
  unsigned sum = 0, in_blocks[4] = {};
  seed_random_order(seed);
  launch(
      [&] {
        atomicAdd(&in_blocks[blockIdx.x], 1u);
        __syncthreads();
        if (threadIdx.x == 7) atomicAdd(&sum, in_blocks[blockIdx.x]);
      },
      kGrid, order);
  return sum;
}

}  // namespace

TEST_CASE("emulated launches: a random order shows a race that orders from one end to the other do not") {
  CHECK(sum_with_a_race(Order::kForward, 1) == kAll);
  CHECK(sum_with_a_race(Order::kBackward, 1) == kAll);
  std::set<unsigned> sums;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    INFO("seed " << seed);
    const unsigned sum = sum_with_a_race(Order::kRandom, seed);
    CHECK(sum < kAll);
    CHECK(sum_with_a_race(Order::kRandom, seed) == sum);
    sums.insert(sum);
  }
  CHECK(sums.size() > 1);
}

TEST_CASE("emulated launches: atomic operations and barriers hold in every order") {
  for (const Order order : {Order::kForward, Order::kBackward, Order::kRandom}) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) CHECK(sum_without(order, seed) == kAll);
  }
}

}  // namespace casync::compll::emulated
