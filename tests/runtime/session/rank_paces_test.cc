// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/rank_paces.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <random>

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

TEST_CASE("rank paces: a pace comes back from its bytes, and other bytes are none") {
  const std::string bytes = encode_pace({0.125, 1e-3, 31});
  const std::optional<Pace> pace = decode_pace(bytes);
  REQUIRE(pace);
  CHECK(pace->median_s == 0.125);
  CHECK(pace->scatter_s == 1e-3);
  CHECK(pace->steps == 31);
  CHECK_FALSE(decode_pace(""));
  CHECK_FALSE(decode_pace(bytes.substr(1)));
  CHECK_FALSE(decode_pace(bytes + "x"));
  CHECK_FALSE(decode_pace(encode_pace({0.125, 1e-3, 0})));
  CHECK_FALSE(decode_pace(encode_pace({-1, 1e-3, 31})));
  CHECK_FALSE(decode_pace(encode_pace({0.125, std::numeric_limits<double>::infinity(), 31})));
  CHECK_FALSE(decode_pace(encode_pace({std::nan(""), 0, 31})));
}

TEST_CASE("rank paces: a thousand random changes of bytes are refused or are times") {
  std::mt19937 random(20261127);
  for (int i = 0; i < 1000; ++i) {
    std::string bytes = encode_pace({0.125, 1e-3, 31});
    for (int change = 0; change < 3; ++change) bytes[random() % bytes.size()] = static_cast<char>(random());
    const std::optional<Pace> pace = decode_pace(bytes);
    if (!pace) continue;
    REQUIRE(std::isfinite(pace->median_s));
    REQUIRE(pace->median_s >= 0);
    REQUIRE(std::isfinite(pace->scatter_s));
    REQUIRE(pace->steps > 0);
  }
}

TEST_CASE("rank paces: a rank has words once it has a pace, and remembers who left with one and who without") {
  RankPaces paces;
  CHECK(paces.words().empty());
  paces.set_own(Pace{0.25, 0, 9});
  CHECK(decode_pace(paces.words())->median_s == 0.25);
  CHECK(paces.others().empty());
  paces.left(2, encode_pace({0.5, 0, 9}));
  paces.left(3, "");
  const auto others = paces.others();
  REQUIRE(others.size() == 2);
  CHECK(others.at(2)->median_s == 0.5);
  CHECK_FALSE(others.at(3));
  paces.set_own(std::nullopt);
  CHECK(paces.words().empty());
}
