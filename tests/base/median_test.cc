// SPDX-License-Identifier: Apache-2.0
#include "base/median.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

namespace casync {
namespace {

TEST_CASE("median: the middle value, or the mean of the middle two") {
  CHECK(median({}) == 0);
  CHECK(median({3}) == 3);
  CHECK(median({4, 1}) == 2.5);
  std::minstd_rand random(7);
  for (std::size_t count = 1; count <= 20; ++count) {
    std::vector<double> values(count);
    for (double& value : values) value = static_cast<double>(random() % 9);
    std::vector<double> sorted = values;
    std::sort(sorted.begin(), sorted.end());
    CHECK(2 * median(values) == sorted[(count - 1) / 2] + sorted[count / 2]);
  }
}

}  // namespace
}  // namespace casync
