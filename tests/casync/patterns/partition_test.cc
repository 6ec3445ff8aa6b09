// SPDX-License-Identifier: Apache-2.0
#include "casync/patterns/partition.h"

#include <catch2/catch.hpp>

#include "casync/strategies/exchange.h"

namespace casync::test {
namespace {

std::vector<Slice> slices(Elements elements, std::size_t partitions) {
  std::vector<Slice> found;
  for (std::size_t p = 0; p < partitions; ++p) found.push_back(partition_slice(elements, partitions, p));
  return found;
}

// Calls check(elements, partitions) for small, odd, aligned and huge sizes.
template <class Check>
void for_many_sizes(Check check) {
  std::vector<Elements> sizes;
  for (Elements n = 0; n <= 200; ++n) sizes.push_back(n);
  for (Elements n = 1000; n < 3'000'000'000'000; n = n * 7 / 2 + 13) {
    for (Elements near : {n - 1, n, round_up(n, kPartitionAlignment), round_up(n, kAlignedPartition)}) {
      sizes.push_back(near);
    }
  }
  for (Elements elements : sizes) {
    for (std::size_t partitions : {1, 2, 3, 4, 5, 7, 8, 9, 16, 31, 64, 1000}) check(elements, partitions);
  }
}

}  // namespace

TEST_CASE("partition: slices are in order, do not overlap and cover every element") {
  for_many_sizes([](Elements elements, std::size_t partitions) {
    Elements covered = 0;
    bool in_order = true;
    for (const Slice& slice : slices(elements, partitions)) {
      in_order = in_order && slice.first == covered;
      covered += slice.count;
    }
    CAPTURE(elements, partitions);
    REQUIRE(in_order);
    REQUIRE(covered == elements);
  });
}

TEST_CASE("partition: sizes differ by at most one part in 16, or one element") {
  for_many_sizes([](Elements elements, std::size_t partitions) {
    Elements least = elements, most = 0;
    for (const Slice& slice : slices(elements, partitions)) {
      least = std::min(least, slice.count);
      most = std::max(most, slice.count);
    }
    CAPTURE(elements, partitions, least, most);
    REQUIRE(most - least <= std::max<Elements>(1, 2 * most / 16));
    REQUIRE(most - least <= 2 * kPartitionAlignment);
  });
}

TEST_CASE("partition: large partitions begin on multiples of 64") {
  for_many_sizes([](Elements elements, std::size_t partitions) {
    if (elements / partitions < kAlignedPartition) return;
    CAPTURE(elements, partitions);
    for (const Slice& slice : slices(elements, partitions)) REQUIRE(slice.first % kPartitionAlignment == 0);
  });
}

TEST_CASE("partition: with more partitions than elements the rest are empty") {
  CHECK(slices(2, 4) == std::vector<Slice>{{0, 1}, {1, 1}, {2, 0}, {2, 0}});
  CHECK(slices(0, 2) == std::vector<Slice>{{0, 0}, {0, 0}});
}

TEST_CASE("partition: examples") {
  CHECK(slices(10, 3) == std::vector<Slice>{{0, 4}, {4, 3}, {7, 3}});
  CHECK(slices(2048, 2) == std::vector<Slice>{{0, 1024}, {1024, 1024}});
  CHECK(slices(2049, 2) == std::vector<Slice>{{0, 1088}, {1088, 961}});
}

TEST_CASE("partition: owners take turns from the first owner on") {
  std::vector<Rank> owners;
  for (std::size_t p = 0; p < 5; ++p) owners.push_back(partition_owner(p, 2, 3));
  CHECK(owners == std::vector<Rank>{2, 0, 1, 2, 0});
}

}  // namespace casync::test
