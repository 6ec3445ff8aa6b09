// SPDX-License-Identifier: Apache-2.0
//
// The operators that pick and move elements: their edges, and against the definitions by plain loops.
#include "compll/interpreter/selection.h"

#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <map>
#include <random>

#include "compll/interpreter/array_operators.h"
#include "compll/lang/front_end.h"
#include "compll/lang/terms.h"
#include "tests/compll/support/inputs.h"
#include "tests/compll/support/programs.h"

namespace casync::compll {
namespace {

constexpr std::uint32_t kNone = 0xffffffff;

std::vector<Scalar> of_floats(const std::vector<float>& values) {
  std::vector<Scalar> scalars;
  for (const float value : values) scalars.push_back(Scalar::of_float(value));
  return scalars;
}

std::vector<Scalar> of_uints(const std::vector<std::uint32_t>& values) {
  std::vector<Scalar> scalars;
  for (const std::uint32_t value : values) scalars.push_back(Scalar::of_uint(value));
  return scalars;
}

std::vector<std::uint32_t> uints(const std::vector<Scalar>& scalars) {
  std::vector<std::uint32_t> values;
  for (const Scalar scalar : scalars) values.push_back(scalar.as_uint());
  return values;
}

std::vector<float> floats(const std::vector<Scalar>& scalars) {
  std::vector<float> values;
  for (const Scalar scalar : scalars) values.push_back(scalar.as_float());
  return values;
}

std::vector<std::uint32_t> largest_of(const std::vector<float>& x, Elements count) {
  return uints(largest(of_floats(x), kFloatType, count));
}

/// The places of the largest, one after the other: each time the first of those that are largest.
std::vector<std::uint32_t> one_by_one(std::vector<float> keys, Elements count) {
  std::vector<std::uint32_t> places;
  for (Elements i = 0; i < std::min<Elements>(count, keys.size()); ++i) {
    const auto top = std::max_element(keys.begin(), keys.end());
    if (!(*top > 0)) break;
    places.push_back(static_cast<std::uint32_t>(top - keys.begin()));
    *top = 0;
  }
  std::sort(places.begin(), places.end());
  places.resize(count, kNone);
  return places;
}

/// Runs a program whose decode is `gradient = VALUE;`, where `x` is the encoded gradient, and returns the result.
std::vector<float> result_of(const std::string& value, const std::vector<float>& x) {
  const std::string text =
      "void encode(float* gradient, uint8* compressed) { compressed = concat(gradient); }\n"
      "void decode(uint8* compressed, float* gradient) { float* x; extract(compressed, x); gradient = " +
      value + "; }\n";
  return round_trip(*from_text("given", text).codec, x);
}

}  // namespace

TEST_CASE("selection: the largest are those that one after the other would be found, of equal ones the first") {
  for (const Elements n : {0, 1, 2, 3, 17, 64, 257}) {
    for (const Input& input : inputs(n)) {
      if (!input.finite) continue;
      for (const Elements count : {Elements{0}, Elements{1}, Elements{2}, n / 2, n, n + 3}) {
        INFO(input.name << ", n " << n << ", the largest " << count);
        CHECK(largest_of(input.values, count) == one_by_one(input.values, count));
      }
    }
  }
}

TEST_CASE("selection: keys of zero and below are left out, infinity and NaN are above all numbers, NaN of sign below") {
  const float nan = std::bit_cast<float>(0x7fc00000u), below = std::bit_cast<float>(0xffc00000u);
  const std::vector<float> x = {1, -kInfinity, kInfinity, -0.0f, 0, nan, below, -5, 1e-45f, 3e38f};
  CHECK(largest_of(x, 1) == std::vector<std::uint32_t>{5});
  CHECK(largest_of(x, 2) == std::vector<std::uint32_t>{2, 5});
  CHECK(largest_of(x, 3) == std::vector<std::uint32_t>{2, 5, 9});
  CHECK(largest_of(x, 4) == std::vector<std::uint32_t>{0, 2, 5, 9});
  CHECK(largest_of(x, 6) == std::vector<std::uint32_t>{0, 2, 5, 8, 9, kNone});
}

TEST_CASE("selection: integers go by their values, unsigned ones up to 2^32 - 1") {
  const std::vector<std::uint32_t> x = {3, 0xffffffff, 0x80000000, 0, 3, 0x7fffffff};
  CHECK(uints(largest(of_uints(x), kUintType, 3)) == std::vector<std::uint32_t>{1, 2, 5});
  CHECK(uints(largest(of_uints(x), kUintType, 4)) == std::vector<std::uint32_t>{0, 1, 2, 5});
  CHECK(uints(largest(of_uints(x), kIntType, 4)) == std::vector<std::uint32_t>{0, 4, 5, kNone});
}

TEST_CASE(
    "selection: the k-th largest is the least that the k largest reach, zero where there are fewer, or k is zero") {
  const auto kth = [](const std::vector<float>& x, std::size_t k) {
    return kth_largest(of_floats(x), kFloatType, k).as_uint();
  };
  for (const Elements n : {0, 1, 2, 3, 17, 64, 257}) {
    for (const Input& input : inputs(n)) {
      for (const Elements k : {Elements{0}, Elements{1}, Elements{2}, n / 2, n, n + 3}) {
        INFO(input.name << ", n " << n << ", k " << k);
        const std::vector<std::uint32_t> places = largest_of(input.values, k);
        std::uint32_t least = places.empty() ? 0 : kNone;
        for (const std::uint32_t place : places) {
          least = std::min(least, place < n ? std::bit_cast<std::uint32_t>(input.values[place]) : 0);
        }
        CHECK(kth(input.values, k) == least);
      }
    }
  }
  const std::vector<float> x = {2, 5, -7, 2, 0, 2, kInfinity, -0.0f, std::nanf("5")};
  const auto bits = [](float value) { return std::bit_cast<std::uint32_t>(value); };
  CHECK(kth(x, 1) == bits(x[8]));
  CHECK(kth(x, 2) == bits(kInfinity));
  CHECK(kth(x, 3) == bits(5));
  for (const std::size_t k : {4, 5, 6}) CHECK(kth(x, k) == bits(2));
  for (const std::size_t k : {7, 8, 9, 10}) CHECK(kth(x, k) == 0);
  const std::vector<std::uint32_t> whole = {3, 0xffffffff, 0x80000000, 0, 3, 7};
  const auto as = [&](ScalarType type, std::size_t k) { return kth_largest(of_uints(whole), type, k).as_uint(); };
  CHECK(as(kUintType, 1) == 0xffffffff);
  CHECK(as(kUintType, 5) == 3);
  CHECK(as(kUintType, 6) == 0);
  CHECK(as(kIntType, 1) == 7);
  CHECK(as(kIntType, 3) == 3);
  CHECK(as(kIntType, 4) == 0);
}

TEST_CASE("selection: `where` gives the first places that hold, and then the place of none") {
  const std::vector<Scalar> holds = of_uints({0, 1, 1, 0, 1});
  CHECK(uints(where(holds, 2)) == std::vector<std::uint32_t>{1, 2});
  CHECK(uints(where(holds, 4)) == std::vector<std::uint32_t>{1, 2, 4, kNone});
  CHECK(where(holds, 0).empty());
  CHECK(uints(where({}, 2)) == std::vector<std::uint32_t>{kNone, kNone});
}

TEST_CASE("selection: sorting is stable, by whatever order") {
  std::mt19937 random(1);
  for (const std::size_t n : {0, 1, 2, 3, 5, 16, 17, 100, 1000}) {
    std::vector<std::uint32_t> x(n);
    for (std::size_t i = 0; i < n; ++i) x[i] = (random() % 8) << 16 | static_cast<std::uint32_t>(i);
    const auto by_upper = [](std::uint32_t a, std::uint32_t b) { return a >> 16 > b >> 16; };
    const auto sorted_here =
        sorted(of_uints(x), [&](Scalar a, Scalar b) { return by_upper(a.as_uint(), b.as_uint()); });
    std::stable_sort(x.begin(), x.end(), by_upper);
    CHECK(uints(sorted_here) == x);
  }
}

TEST_CASE("selection: an order that is none ends, loses nothing, and gives the same each time") {
  std::vector<float> x = gaussian(1000, 1);
  x[7] = x[500] = std::nanf("");
  const std::vector<std::function<bool(Scalar, Scalar)>> orders = {
      [](Scalar, Scalar) { return true; }, [](Scalar, Scalar) { return false; },
      [](Scalar a, Scalar b) { return a.as_float() <= b.as_float(); },
      [](Scalar a, Scalar b) { return a.as_float() < b.as_float(); },
      [](Scalar a, Scalar b) { return ((a.as_uint() ^ b.as_uint()) & 4) != 0; }};
  for (const auto& order : orders) {
    std::vector<std::uint32_t> once = uints(sorted(of_floats(x), order)), kept = uints(of_floats(x));
    CHECK(once == uints(sorted(of_floats(x), order)));
    std::sort(once.begin(), once.end());
    std::sort(kept.begin(), kept.end());
    CHECK(once == kept);
  }
}

TEST_CASE("selection: a histogram counts what is in its bins, and nothing else") {
  const auto counted = [](const std::vector<std::uint32_t>& bins, Elements count) {
    return uints(histogram({.arguments = {of_uints(bins)}, .types = {kUintType}, .count = count}));
  };
  CHECK(counted({0, 2, 2, 3, kNone, 0x80000000, 1}, 3) == std::vector<std::uint32_t>{1, 1, 2});
  CHECK(counted({}, 2) == std::vector<std::uint32_t>{0, 0});
  CHECK(counted({0, 1}, 0).empty());
}

TEST_CASE("selection: hadamard is the matrix of Walsh, short blocks cut into powers of two, the largest first") {
  const auto by_matrix = [](const std::vector<float>& x, std::size_t block) {
    std::vector<double> y(x.size());
    for (std::size_t begin = 0; begin < x.size();) {
      const std::size_t left = std::min(block - begin % block, x.size() - begin), size = std::bit_floor(left);
      for (std::size_t i = 0; i < size; ++i) {
        for (std::size_t j = 0; j < size; ++j) {
          y[begin + i] += (std::popcount(i & j) % 2 == 0 ? 1.0 : -1.0) * x[begin + j] / std::sqrt(size);
        }
      }
      begin += size;
    }
    return y;
  };
  for (const std::size_t block : {1, 2, 16, 64}) {
    for (const Elements n : {0, 1, 2, 3, 15, 16, 63, 64, 65, 100, 255}) {
      INFO("block " << block << ", n " << n);
      const std::vector<float> x = laplace(n, 3);
      const std::vector<Scalar> y = hadamard(of_floats(x), block);
      const std::vector<double> expected = by_matrix(x, block);
      for (std::size_t i = 0; i < x.size(); ++i) CHECK(floats(y)[i] == Approx(expected[i]).margin(1e-5));
      const std::vector<float> again = floats(hadamard(y, block));
      for (std::size_t i = 0; i < x.size(); ++i) CHECK(again[i] == Approx(x[i]).margin(1e-5));
    }
  }
}

TEST_CASE("selection: elements gathered outside are zero, elements scattered outside are lost") {
  const std::vector<float> x = {1, 2, 3, 4};
  CHECK(result_of("gather(x, map(range(x.size), [&](uint i) -> uint { return i * 3; }))", x) ==
        std::vector<float>{1, 4, 0, 0});
  CHECK(result_of("scatter(map(range(x.size), [&](uint i) -> uint { return i * 3; }), x, x.size)", x) ==
        std::vector<float>{1, 0, 0, 2});
  CHECK(result_of("scatter(map(range(x.size), [&](int i) -> int { return i - 2; }), 9, x)", x) ==
        std::vector<float>{9, 9, 3, 4});
  CHECK(result_of("scatter_add(map(range(x.size), [&](int i) -> int { return i - 2; }), x, x)", x) ==
        std::vector<float>{4, 6, 3, 4});
  CHECK(result_of("scatter(map(range(x.size), [&](uint i) -> uint { return 0xffffffff - i; }), x, x)", x) == x);
}

TEST_CASE("selection: a place below zero is outside, not the first one") {
  const std::vector<float> x = {1, 2, 3, 4};
  for (const std::string type : {"int", "int8", "int32"}) {
    INFO(type);
    const std::string places = "map(range(x.size), [&](int i) -> " + type + " { return i - 2; })";
    CHECK(result_of("gather(x, " + places + ")", x) == std::vector<float>{0, 0, 1, 2});
    CHECK(result_of("map(" + places + ", [&](" + type + " i) -> float { return x[i]; })", x) ==
          std::vector<float>{0, 0, 1, 2});
    CHECK(result_of("scatter(" + places + ", 9, x)", x) == std::vector<float>{9, 9, 3, 4});
    CHECK(result_of("scatter_add(" + places + ", 9, x)", x) == std::vector<float>{10, 11, 3, 4});
  }
  CHECK(result_of("map(x, [&](float v) -> float { return x[-1] + x[int(-v)] + x[-2147483647]; })", x) ==
        std::vector<float>(4, 0.0f));
}

TEST_CASE("selection: scatter keeps the last value for a place, scatter_add the sum in their order") {
  const std::vector<float> x = {1e8f, 1, -1e8f, 0.5f};
  CHECK(result_of("scatter(map(x, [&](float v) -> uint { return 1; }), x, x.size)", x) ==
        std::vector<float>{0, 0.5f, 0, 0});
  CHECK(result_of("scatter_add(map(x, [&](float v) -> uint { return 2; }), x, x.size)", x) ==
        std::vector<float>{0, 0, 1e8f + 1 - 1e8f + 0.5f, 0});
}

TEST_CASE("selection: filter hands out the first that hold, and zeros behind them") {
  const std::vector<float> x = {3, -1, 0.5f, 7, -2};
  CHECK(result_of("filter(x, x.size, [&](float v) -> bool { return v > 1; })", x) == std::vector<float>{3, 7, 0, 0, 0});
  CHECK(result_of("filter(x, x.size, [&](float v) -> bool { return v > 99; })", x) == std::vector<float>(5, 0.0f));
}

TEST_CASE("selection: filter computes its array once, so that it hands out what its condition has seen") {
  const std::string decode =
      "void decode(uint8* compressed, float* gradient) { float* y; extract(compressed, y); gradient = y; }\n";
  for (const std::string count : {"", "gradient.size, "}) {
    INFO("count: " << count);
    const std::string some = "filter(map(gradient, [&](float x) -> float { return x + random<float>(0, 1); }), " +
                             count + "[&](float x) -> bool { return x > 0.5; })";
    const std::string text =
        "void encode(float* gradient, uint8* compressed) {\n"
        "  float* some = " +
        some +
        ";\n"
        "  float* y = map(range(gradient.size), [&](int i) -> float { return some[i]; });\n"
        "  compressed = concat(y);\n}\n" +
        decode;
    const std::vector<float> given = round_trip(*from_text("drawn", text).codec, std::vector<float>(1000));
    const auto is_zero = [](float x) { return x == 0; };
    CHECK(std::count_if(given.begin(), given.end(), is_zero) < 700);
    CHECK(std::all_of(given.begin(), given.end(), [&](float x) { return is_zero(x) || x > 0.5f; }));
  }
}

TEST_CASE("selection: filter of what ranks exchange is one exchange") {
  const Source source("x.cll",
                      "void synchronize(float* gradient, float* result) {\n"
                      "  float* some = filter(exchange(gradient), 10, [&](float x) -> bool { return x > 0.5; });\n"
                      "  result = map(gradient, [&](float x) -> float { return x + some[0]; });\n}\n");
  const Result<Program> program = compile(source);
  REQUIRE(program.status().text() == "OK");
  CHECK(program->rounds == 1);
  CHECK(exchanges_of(*program).size() == 1);
}

TEST_CASE("selection: a size is computed from parameters and sizes, and is n where it is more") {
  const std::string text =
      "param { double ratio = 0.5 in 0..4; uint more = 0; }\n"
      "void encode(float* gradient, uint8* compressed) {\n"
      "  int* first = range(gradient.size * ratio + more);\n"
      "  compressed = concat(first);\n}\n"
      "void decode(uint8* compressed, float* gradient) {\n"
      "  int* first;\n  extract(compressed, first);\n  gradient = scatter(first, 1.0, gradient.size);\n}\n";
  const std::string whole = changed(text, "gradient.size * ratio + more", "uint(gradient.size * ratio) + more");
  const std::map<std::pair<double, double>, Elements> sizes_of_10 = {
      {{0.5, 0}, 5}, {{0.99, 0}, 9}, {{0, 0}, 0}, {{0, 3}, 3}, {{1, 0}, 10}, {{4, 0}, 10}, {{0, 4294967295}, 10}};
  for (const auto& [values, size] : sizes_of_10) {
    INFO("ratio " << values.first << ", more " << values.second);
    const Written written = from_text("sized", whole, {{"ratio", values.first}, {"more", values.second}});
    const std::vector<float> decoded = round_trip(*written.codec, std::vector<float>(10));
    CHECK(std::count(decoded.begin(), decoded.end(), 1.0f) == static_cast<long>(size));
    CHECK(written.codec->encoded_bound(10) == 16 + 4 * size);
    CHECK(written.codec->encoded_bound(0) == 16);
  }
  CHECK_THROWS_WITH(from_text("sized", text), Catch::Contains("a size that is no integer"));
}

}  // namespace casync::compll
