// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <limits>

#include "tests/casync/simulator/scenarios.h"

namespace casync {

TEST_CASE("curve: lines between points, constant below the first, the last slope beyond the last") {
  const Curve curve{{{10, 1}, {20, 2}, {40, 2}, {50, 5}}};
  CHECK(curve.at(0) == 1);
  CHECK(curve.at(10) == 1);
  CHECK(curve.at(15) == Approx(1.5));
  CHECK(curve.at(30) == Approx(2));
  CHECK(curve.at(45) == Approx(3.5));
  CHECK(curve.at(60) == Approx(8));
  CHECK(Curve{}.at(7) == 0);
  CHECK(Curve{{{5, 3}}}.at(1e9) == 3);
  CHECK(Curve::affine(2, 0.5).at(10) == Approx(7));
}

TEST_CASE("curve: wrong points are refused") {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const auto fault = [](Curve::Point point) { return fault_of_point({{1, 1}, point}, 1); };
  CHECK(fault({2, 1}).empty());
  CHECK(fault({2, 2}).empty());
  CHECK(fault({1, 2}) == "a size that is not above the one before it");
  CHECK(fault({2, 0.5}) == "less seconds than the smaller size before it");
  for (const double bad : {-1.0, inf, nan}) {
    CHECK(fault({bad, 2}) == "a size that is negative or not finite");
    CHECK(fault({2, bad}) == "seconds that are negative or not finite");
  }
}

TEST_CASE("costs: without curves, the bytes that must be moved over the memory's bandwidth") {
  Profile profile = test::ideal(0);
  profile.memory_bytes_per_second = 1000;
  profile.launch_s = 0.5;
  const CodecCosts none(*test::facts_of({"none", {}}), profile), byte(*test::facts_of({"byte", {}}), profile);
  CHECK(none.encode(1000) == 0);
  CHECK(none.decode(1000) == 0);
  const auto merge = [](int coded, const CodecCosts& from, int raw, const CodecCosts& elements, const CodecCosts& to) {
    std::vector<const CodecCosts*> contributions(static_cast<std::size_t>(coded), &from);
    contributions.insert(contributions.end(), static_cast<std::size_t>(raw), &elements);
    return CodecCosts::merge(1000, contributions, to);
  };
  CHECK(merge(4, none, 0, none, none) == Approx(0.5 + 4 * 4 + 4));
  CHECK(byte.encode(1000) == Approx(0.5 + 4 + 8 + 1));
  CHECK(byte.decode(1000) == Approx(0.5 + 4 + 1));
  CHECK(merge(3, byte, 1, none, byte) == Approx(0.5 + 3 * 1 + 4 + 1 + 8));
  CHECK(merge(4, byte, 0, none, none) == Approx(0.5 + 4 * 1 + 4));
  CHECK(byte.payload_bytes(1001) == 1001);
}

TEST_CASE("costs: curves of the codec with its parameters are preferred to those of its name") {
  Profile profile = test::ideal(0);
  profile.codecs["int4"].encode = Curve::affine(1, 0);
  profile.codecs["int4:block=64"].encode = Curve::affine(2, 0);
  const auto encode = [&](const char* name) {
    return CodecCosts(CodecFacts{name, {.bits_per_element = 4}, false, 0}, profile).encode(10);
  };
  CHECK(encode("int4") == 1);
  CHECK(encode("int4:block=64") == 2);
  CHECK(encode("int4:block=128") == 1);
  CHECK(encode("int8") == 0);
}

}  // namespace casync
