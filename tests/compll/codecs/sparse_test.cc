// SPDX-License-Identifier: Apache-2.0
//
// topk, threshold and graddrop: which elements they send, against plain loops over the definitions.
#include <algorithm>
#include <bit>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <random>

#include "tests/compll/codecs/promises.h"
#include "tests/compll/codecs/sparse.h"
#include "tests/compll/support/inputs.h"

namespace casync::compll {
namespace {

/// Sizes up to where plain loops are quick.
std::vector<Elements> small_sizes() {
  std::vector<Elements> all = sizes();
  std::erase_if(all, [](Elements n) { return n == 0 || n > 4099; });
  return all;
}

/// Checks that a codec with the sections `place` and `value` sends exactly these places, with their elements.
void check_sent(const Written& written, const std::vector<float>& x, const std::vector<std::uint32_t>& expected) {
  const Coded coded = encode(*written.codec, x);
  CHECK(integers_in(written, coded, "place", x.size()) == expected);
  const std::vector<float> values = floats_in(written, coded, "value", x.size());
  REQUIRE(values.size() == expected.size());
  std::vector<float> wanted;
  for (const std::uint32_t place : expected) wanted.push_back(place == kNoPlace ? 0.0f : x[place]);
  CHECK(same_bytes(values, wanted));
  CHECK(same_bytes(decode(*written.codec, coded, x.size()), only_at(expected, x)));
}

double energy(std::span<const float> x, std::span<const std::uint32_t> places) {
  return norm_squared(only_at(places, x));
}

/// |x| where it is above tau.
std::vector<float> above(const std::vector<float>& x, float tau) {
  std::vector<float> keys = magnitudes(x);
  for (float& key : keys) key = key > tau ? key : 0;
  return keys;
}

/// graddrop's candidates: elements that reach the threshold, the first magnitude of a sample beyond the share of it.
std::vector<float> candidates(const std::vector<float>& x, double ratio, double sample) {
  const Elements taken = std::min<Elements>(x.size(), std::max<Elements>(256, share_of(sample, x.size())));
  std::vector<float> some;
  for (Elements i = 0; i < taken; ++i) some.push_back(std::fabs(x[i * (x.size() / taken)]));
  std::sort(some.begin(), some.end(), std::greater<>());
  const Elements at = share_of(ratio, taken);
  std::vector<float> keys = magnitudes(x);
  for (float& key : keys) key = at < taken && key < some[at] ? 0 : key;
  return keys;
}

}  // namespace

TEST_CASE("topk: the elements of largest magnitude are sent with their bits, of equal ones the first") {
  for (const double ratio : {0.000001, 0.01, 0.1, 0.5, 1.0}) {
    const Written written = from_source("topk", {{"ratio", ratio}});
    for (const Elements n : small_sizes()) {
      for (const Input& input : inputs(n)) {
        if (!input.finite) continue;
        INFO("ratio " << ratio << ", n " << n << ", " << input.name);
        check_sent(written, input.values, places_of_largest(magnitudes(input.values), share_of(ratio, n)));
      }
    }
  }
}

TEST_CASE("topk: no other choice of as many elements keeps more of the gradient") {
  const Elements n = 300, k = 30;
  const Written written = from_source("topk", {{"ratio", 0.1}});
  std::mt19937 random(3);
  for (const std::vector<float>& x : {gaussian(n, 1), laplace(n, 2)}) {
    const double kept = norm_squared(round_trip(*written.codec, x));
    CHECK(kept >= norm_squared(x) * k / n);
    std::vector<std::uint32_t> others(n);
    for (std::uint32_t i = 0; i < n; ++i) others[i] = i;
    for (int trial = 0; trial < 200; ++trial) {
      std::shuffle(others.begin(), others.end(), random);
      CHECK(energy(x, std::span(others).first(k)) <= kept);
    }
  }
}

TEST_CASE("topk: all elements are the gradient itself") {
  const Written written = from_source("topk", {{"ratio", 1}});
  for (const Elements n : small_sizes()) {
    const std::vector<float> x = laplace(n, 4);
    CHECK(same_bytes(round_trip(*written.codec, x), x));
  }
}

TEST_CASE("topk: its share of the elements is rounded up, and is one at least") {
  const std::map<std::pair<double, Elements>, Elements> shares = {
      {{0.01, 1}, 1},   {{0.01, 99}, 1},   {{0.01, 100}, 1},    {{0.01, 101}, 2},        {{0.5, 3}, 2},
      {{0.001, 10}, 1}, {{1, 1000}, 1000}, {{0.25, 1000}, 250}, {{0.000001, 1 << 20}, 2}};
  for (const auto& [given, share] : shares) {
    const auto& [ratio, n] = given;
    INFO("ratio " << ratio << ", n " << n);
    CHECK(section_of(from_source("topk", {{"ratio", ratio}}), "place", n).count == share);
    CHECK(share_of(ratio, n) == share);
  }
}

TEST_CASE("topk: taking the last of equal elements instead of the first would be noticed") {
  const std::vector<float> x = {1, 2, 2, 2};
  const Written written = from_source("topk", {{"ratio", 0.5}});
  CHECK(integers_in(written, encode(*written.codec, x), "place", 4) == std::vector<std::uint32_t>{1, 2});
  const std::string signed_keys = changed(source_of("topk"), ", absolute)", ")");
  CHECK(round_trip(*from_text("topk", signed_keys).codec, std::vector<float>{1, -2}) == std::vector<float>{1, 0});
  CHECK(round_trip(*from_source("topk").codec, std::vector<float>{1, -2}) == std::vector<float>{0, -2});
}

TEST_CASE("threshold: larger elements are sent if there is room, else the largest of them") {
  for (const float tau : {1e-30f, 0.3f, 1.0f, 2.5f}) {
    for (const double capacity : {0.01, 0.2, 1.0}) {
      const Written written = from_source("threshold", {{"tau", tau}, {"capacity", capacity}});
      for (const Elements n : small_sizes()) {
        for (const Input& input : inputs(n)) {
          if (!input.finite) continue;
          INFO("tau " << tau << ", capacity " << capacity << ", n " << n << ", " << input.name);
          const std::vector<float> keys = above(input.values, tau);
          check_sent(written, input.values, places_of_largest(keys, share_of(capacity, n)));
        }
      }
    }
  }
}

TEST_CASE("threshold: equal elements are kept, and nothing is lost to places if there is room") {
  const std::vector<float> x = {0.5f, -0.5f, 0.75f, -0.75f, 0, std::nextafter(0.5f, 1.0f)};
  const Written written = from_source("threshold", {{"tau", 0.5}, {"capacity", 1}});
  CHECK(round_trip(*written.codec, x) == std::vector<float>{0, 0, 0.75f, -0.75f, 0, std::nextafter(0.5f, 1.0f)});
  CHECK_THROWS_WITH(from_source("threshold", {{"tau", 0}}), Catch::Contains("`tau` cannot be "));
}

TEST_CASE("graddrop: elements that reach the threshold of its sample are sent, the largest if they are too many") {
  for (const double ratio : {0.001, 0.01, 0.25, 1.0}) {
    for (const double sample : {0.0001, 0.1, 1.0}) {
      const Written written = from_source("graddrop", {{"ratio", ratio}, {"sample", sample}});
      for (const Elements n : small_sizes()) {
        for (const Input& input : inputs(n)) {
          if (!input.finite) continue;
          INFO("ratio " << ratio << ", sample " << sample << ", n " << n << ", " << input.name);
          const std::vector<float> keys = candidates(input.values, ratio, sample);
          check_sent(written, input.values, places_of_largest(keys, share_of(ratio, n)));
        }
      }
    }
  }
}

TEST_CASE("graddrop: a whole sample gives the choice of topk, and a part about as many elements") {
  const std::vector<float> x = gaussian(1000, 7);
  const Written whole = from_source("graddrop", {{"ratio", 0.05}, {"sample", 1}});
  CHECK(same_bytes(round_trip(*whole.codec, x), round_trip(*from_source("topk", {{"ratio", 0.05}}).codec, x)));
  const std::vector<float> many = gaussian(40000, 8);
  const Written part = from_source("graddrop", {{"ratio", 0.05}, {"sample", 0.05}});
  const std::size_t sent = count_of(integers_in(part, encode(*part.codec, many), "place", many.size()));
  CHECK(sent <= 2000);
  CHECK(sent > 2000 - 6 * 196);  // 100 of 2000 samples are above it, give or take 9.8 for each standard deviation
}

TEST_CASE("graddrop: it sends nothing of zeros, and something of all else, however small the share") {
  const Written written = from_source("graddrop", {{"ratio", 0.000001}});
  const auto sent = [](const Written& by, const std::vector<float>& x) {
    return count_of(integers_in(by, encode(*by.codec, x), "place", x.size()));
  };
  CHECK(sent(written, std::vector<float>(700, 0.0f)) == 0);
  const std::string exclusive = changed(source_of("graddrop"), "abs(x) < tau", "abs(x) <= tau");
  const Written wrong =
      from_text("graddrop", changed(exclusive, "selected(ratio, taken) + 1", "uint(ratio * taken) + 1"));
  for (const Elements n : {1, 2, 67, 99}) {
    INFO("n " << n);
    CHECK(sent(written, gaussian(n, 1)) == 1);
    CHECK(sent(wrong, gaussian(n, 1)) == 0);  // for ever: the largest element is the threshold
  }
}

TEST_CASE("codecs: NaN of either sign and infinity are seen, whatever is picked") {
  const Elements n = 1000;
  for (const std::string& name : written_names()) {
    const Written written = from_source(name);
    for (const std::uint32_t special : {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0xffffffffu, 0x7f800000u, 0xff800000u}) {
      for (const float scale : {1.0f, 1e-20f}) {
        INFO(name << ", " << std::hex << special);
        std::vector<float> x = scaled(gaussian(n, 9), scale);
        x[n / 3] = std::bit_cast<float>(special);
        const Coded coded = encode(*written.codec, x);
        CHECK_FALSE(coded.finite);
        const std::vector<float> decoded = decode(*written.codec, coded, n);
        CHECK_FALSE(std::all_of(decoded.begin(), decoded.end(), [](float value) { return std::isfinite(value); }));
      }
    }
  }
}

}  // namespace casync::compll
