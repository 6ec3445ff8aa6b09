// SPDX-License-Identifier: Apache-2.0
//
// Each format's own rules, at the values where they change.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/compll/codecs/promises.h"
#include "tests/compll/codecs/sparse.h"
#include "tests/compll/support/inputs.h"

namespace casync::compll {
namespace {

constexpr float kLargest = std::numeric_limits<float>::max();

/// The numbers of a format with `fraction` bits after the point and exponents from 1 - bias on, by their codes.
std::vector<float> numbers(int fraction, int bias, int count) {
  std::vector<float> all;
  for (int code = 0; code < count; ++code) {
    const int field = code >> fraction, part = code & ((1 << fraction) - 1);
    const int units = field == 0 ? part : part + (1 << fraction);
    all.push_back(std::ldexp(static_cast<float>(units), std::max(field, 1) - bias - fraction));
  }
  return all;
}

/// Returns the nearest of the numbers, of two equally near ones the one with the even code.
float nearest_of(const std::vector<float>& all, float x) {
  std::size_t best = 0;
  for (std::size_t code = 1; code < all.size(); ++code) {
    const double now = std::fabs(static_cast<double>(x) - all[code]),
                 before = std::fabs(static_cast<double>(x) - all[best]);
    if (now < before || (now == before && code % 2 == 0)) best = code;
  }
  return all[best];
}

/// Every number, every midpoint between neighbours and the value one step from each on both sides; all with both signs.
std::vector<float> delicate(const std::vector<float>& all) {
  std::vector<float> values;
  for (std::size_t code = 0; code + 1 < all.size(); ++code) {
    for (const float value : {all[code], all[code] / 2 + all[code + 1] / 2}) {
      for (const float near : {value, std::nextafter(value, kLargest), std::nextafter(value, 0.0f)}) {
        values.push_back(near);
        values.push_back(-near);
      }
    }
  }
  return values;
}

/// Number of these values that a codec does not round to the nearest number, in blocks that begin with the largest
/// number, so that their scale is 1.
std::size_t rounded_wrongly(const Codec& codec, const std::vector<float>& all, Elements block) {
  const std::vector<float> values = delicate(all);
  std::size_t wrong = 0;
  for (Elements begin = 0; begin < values.size(); begin += block - 1) {
    std::vector<float> x = {all.back()};
    x.insert(x.end(), &values[begin], &values[begin] + std::min(block - 1, values.size() - begin));
    const std::vector<float> decoded = round_trip(codec, x);
    for (Elements i = 0; i < x.size(); ++i) {
      wrong += decoded[i] != std::copysign(nearest_of(all, std::fabs(x[i])), x[i]);
    }
  }
  return wrong;
}

/// The same of nvfp4, where the largest element makes the unit 1, and blocks that begin with 6 have the scale 1.
std::size_t rounded_wrongly_in_nvfp4(const Codec& codec) {
  constexpr Elements kOthers = 15;
  const std::vector<float> all = numbers(1, 1, 8), values = delicate(all);
  std::vector<float> x(16, 0.0f);
  x[0] = 2688;
  for (Elements begin = 0; begin < values.size(); begin += kOthers) {
    x.push_back(6);
    x.insert(x.end(), &values[begin], &values[begin] + std::min(kOthers, values.size() - begin));
  }
  const std::vector<float> decoded = round_trip(codec, x);
  std::size_t wrong = decoded[0] != 2688;
  for (Elements i = 1; i < x.size(); ++i) {
    wrong += i < 16 ? decoded[i] != 0 : decoded[i] != std::copysign(nearest_of(all, std::fabs(x[i])), x[i]);
  }
  return wrong;
}

double top_of(std::span<const float> x) {
  double top = 0;
  for (const float value : x) top = std::max(top, std::fabs(static_cast<double>(value)));
  return top;
}

/// Number of blocks of nvfp4 whose scale is not the nearest one, and of elements that are not the nearest number times
/// the scale they have and the unit. All in doubles, so each may be the other neighbour by a hundred thousandth.
std::size_t faults_of_nvfp4(const Written& written, const std::vector<float>& x) {
  const std::vector<float> eight_bits = numbers(3, 7, 0x7f), four_bits = numbers(1, 1, 8);
  const Coded coded = encode(*written.codec, x);
  const std::vector<std::uint32_t> scales = integers_in(written, coded, "scale", x.size());
  const std::vector<float> decoded = decode(*written.codec, coded, x.size());
  const double unit = top_of(x) / 2688;
  const auto apart = [](double a, const std::vector<float>& all) {
    return std::fabs(a - nearest_of(all, static_cast<float>(a)));
  };
  std::size_t faults = 0;
  for (Elements begin = 0; begin < x.size(); begin += 16) {
    const Elements count = std::min<Elements>(16, x.size() - begin);
    const double wanted = top_of(std::span(x).subspan(begin, count)) / (6 * unit);
    const std::uint32_t code = scales[begin / 16];
    if (code >= eight_bits.size()) return x.size();
    const double step = eight_bits[code] * unit;
    faults += !(std::fabs(wanted - eight_bits[code]) <= apart(wanted, eight_bits) + 1e-5 * wanted);
    for (Elements i = begin; i < begin + count; ++i) {
      const double size = std::fabs(static_cast<double>(x[i])), given = std::fabs(static_cast<double>(decoded[i]));
      const double least = step > 0 ? apart(size / step, four_bits) * step : size;
      faults += !(std::fabs(size - given) <= least + 1e-5 * size);
      faults += step > 0 ? apart(given / step, four_bits) > 1e-5 : given != 0;
      faults += given != 0 && std::signbit(decoded[i]) != std::signbit(x[i]);
    }
  }
  return faults;
}

std::vector<float> decoded_by(const std::string& name, const std::vector<float>& x, const Parameters& parameters = {}) {
  return round_trip(*from_source(name, parameters).codec, x);
}

}  // namespace

TEST_CASE("codecs: fp8 and mxfp4 round every number, midpoint and neighbour to nearest even") {
  CHECK(rounded_wrongly(*from_source("fp8_e4m3").codec, numbers(3, 7, 0x7f), 256) == 0);
  CHECK(rounded_wrongly(*from_source("fp8_e5m2").codec, numbers(2, 15, 0x7c), 256) == 0);
  CHECK(rounded_wrongly(*from_source("mxfp4").codec, numbers(1, 1, 8), 32) == 0);
  CHECK(numbers(3, 7, 0x7f).back() == 448);
  CHECK(numbers(2, 15, 0x7c).back() == 57344);
  CHECK(numbers(1, 1, 8) == std::vector<float>{0, 0.5f, 1, 1.5f, 2, 3, 4, 6});
}

TEST_CASE("codecs: rounding halves up instead of to even would be noticed") {
  const std::string wrong = changed(whole_source_of("fp8_e4m3"), "- 1 + (magnitude >> rest & 1)", "");
  CHECK(rounded_wrongly(*from_text("fp8_e4m3", wrong).codec, numbers(3, 7, 0x7f), 256) > 50);
}

TEST_CASE("codecs: fp8 has the codes of its formats") {
  const std::vector<float> x = {448, 1, -1, 0.0625f, 0.001953125f, 0};
  const Coded coded = encode(*from_source("fp8_e4m3").codec, x);
  const std::vector<std::byte> codes(coded.payload.begin() + 32, coded.payload.end());
  CHECK(codes == std::vector<std::byte>{std::byte{0x7e}, std::byte{0x38}, std::byte{0xb8}, std::byte{0x18},
                                        std::byte{0x01}, std::byte{0x00}});
}

TEST_CASE("codecs: the scale of mxfp4 is the least power of two for which no element exceeds 6") {
  const auto code_of = [](float top) {
    return std::to_integer<int>(encode(*from_source("mxfp4").codec, std::vector<float>{top}).payload[16]);
  };
  CHECK(code_of(6) == 127);
  CHECK(code_of(std::nextafter(6.0f, 7.0f)) == 128);
  CHECK(code_of(-4) == 127);
  CHECK(code_of(3) == 126);
  CHECK(code_of(3.5f) == 127);
  CHECK(code_of(0) == 0);
  CHECK(code_of(1e-40f) == 0);
  CHECK(code_of(0x1p-125f) == 0);
  CHECK(code_of(0x1.9p-125f) == 1);
  CHECK(code_of(0x1.8p127f) == 252);
  CHECK(code_of(kLargest) == 252);  // 4 times the next scale would be infinite
  CHECK(code_of(std::nanf("")) == 255);
  CHECK(code_of(std::numeric_limits<float>::infinity()) == 255);
  CHECK(decoded_by("mxfp4", {kLargest})[0] == 0x1.8p127f);
}

TEST_CASE("codecs: nvfp4 rounds every number, midpoint and neighbour to nearest even, and its largest element stays") {
  CHECK(rounded_wrongly_in_nvfp4(*from_source("nvfp4").codec) == 0);
  const std::string wrong = changed(source_of("nvfp4"), "small_float(x * s, 1, 1)", "small_float(x * s * 1.01, 1, 1)");
  CHECK(rounded_wrongly_in_nvfp4(*from_text("nvfp4", wrong).codec) > 0);
}

TEST_CASE("codecs: nvfp4 has the nearest scale of 8 bits for each 16 elements, and the nearest numbers times these") {
  const Written written = from_source("nvfp4");
  const Written too_large = from_text("nvfp4", changed(source_of("nvfp4"), "top * sixth", "top * sixth * 1.2"));
  for (const Elements n : {1, 2, 15, 16, 17, 100, 1000, 4099}) {
    for (const Input& input : inputs(n)) {
      if (!input.finite || top_of(input.values) < 0x1p-90) continue;  // smaller steps have no reciprocal
      INFO("n " << n << ", " << input.name);
      CHECK(faults_of_nvfp4(written, input.values) == 0);
    }
  }
  CHECK(faults_of_nvfp4(too_large, gaussian(1000, 1)) > 0);
}

TEST_CASE("codecs: nvfp4 has the codes of its formats, behind the unit of all") {
  const Coded coded = encode(*from_source("nvfp4").codec, std::vector<float>{2688, -1344});
  REQUIRE(coded.payload.size() == 49);
  float unit = 0;
  std::memcpy(&unit, &coded.payload[16], sizeof unit);
  CHECK(unit == 1);
  CHECK(coded.payload[32] == std::byte{0x7e});
  CHECK(coded.payload[48] == std::byte{0xd7});
}

TEST_CASE("codecs: natural sends powers of two as they are, up to 65536 and down to 2^-109") {
  for (int power = -109; power <= 16; ++power) {
    const float x = std::ldexp(1.0f, power);
    CHECK(decoded_by("natural", {x, -x}) == std::vector<float>{x, -x});
  }
  CHECK(decoded_by("natural", {65537, -1e30f}) == std::vector<float>{65536, -65536});
  int sent = 0;
  for (const float value : decoded_by("natural", std::vector<float>(4096, 0x1p-111f))) {
    REQUIRE((value == 0 || value == 0x1p-109f));
    sent += value != 0;
  }
  CHECK(std::abs(sent - 1024) < 6 * 28);  // a quarter of them, by 6 standard deviations
}

TEST_CASE("codecs: tbq sends what equals its threshold, and signsgd sends zero as 1") {
  const std::vector<float> x = {0.5f, -0.5f, 0.49f, -0.49f, 7, -7, 0};
  CHECK(decoded_by("tbq", x) == std::vector<float>{0.5f, -0.5f, 0, 0, 0.5f, -0.5f, 0});
  CHECK(decoded_by("tbq", x, {{"tau", 7}}) == std::vector<float>{0, 0, 0, 0, 7, -7, 0});
  CHECK(decoded_by("signsgd", {3, -1e-30f, 0, -0.0f}) == std::vector<float>{1, -1, 1, 1});
  CHECK_THROWS_WITH(from_source("tbq", {{"tau", 0}}), Catch::Contains("`tau` cannot be "));
  CHECK_THROWS_WITH(from_source("tbq", {{"tau", std::nan("")}}), Catch::Contains("`tau` cannot be "));
}

TEST_CASE("codecs: terngrad cuts off at its standard deviations, but not where all elements are the same") {
  const std::vector<float> x = gaussian(4000, 1);
  double sum = 0;
  for (const float value : x) sum += value;
  const double mean = sum / 4000, sigma = std::sqrt(norm_squared(x) / 4000 - mean * mean);
  const std::vector<float> decoded = decoded_by("terngrad", x, {{"clip", 2.5}});
  REQUIRE(norm_squared(decoded) > 0);
  const float top = std::fabs(*std::find_if(decoded.begin(), decoded.end(), [](float value) { return value != 0; }));
  CHECK(top == Approx(2.5 * sigma).epsilon(1e-5));
  CHECK(
      std::all_of(decoded.begin(), decoded.end(), [&](float value) { return value == 0 || std::fabs(value) == top; }));
  for (const float end : {top, -top}) CHECK(std::count(decoded.begin(), decoded.end(), end) > 0);
  const std::vector<float> constant(301, 0.1f);
  CHECK(decoded_by("terngrad", constant, {{"clip", 2.5}}) == constant);
}

TEST_CASE("codecs: minmax gives the ends of a block and constants as they were, also at the ends of float's range") {
  const std::vector<std::vector<float>> all = {
      {kLargest, -kLargest}, {-1, -3, -1, -3}, {1, 0x1.000002p0f}, {-1, 1e-20f}, std::vector<float>(700, 0.1f)};
  for (const std::vector<float>& x : all) {
    for (const double bits : {1.0, 2.0, 4.0, 8.0}) CHECK(decoded_by("minmax", x, {{"bits", bits}}) == x);
  }
}

TEST_CASE("codecs: qsgd keeps what is as large as its norm, and norms beyond float's range decode to finite numbers") {
  for (const double bits : {2.0, 4.0, 8.0}) {
    CHECK(decoded_by("qsgd", {0, -3, 0}, {{"bits", bits}}) == std::vector<float>{0, -3, 0});
    for (const float value : decoded_by("qsgd", std::vector<float>(128, kLargest), {{"bits", bits}})) {
      CHECK(value == kLargest);
    }
  }
}

TEST_CASE("codecs: random levels keep a block whose units a float has, and send zeros, or its least element, below") {
  struct Row {
    const char* name;
    Parameters parameters;
    int power;  ///< with the largest magnitude 2^power a float has the number of units per value
  };
  for (const Row& row : {Row{"terngrad", {}, -103},
                         {"diana", {}, -103},
                         {"qsgd", {{"bits", 8}}, -96},
                         {"minmax", {{"bits", 1}}, -103}}) {
    INFO(row.name);
    const float top = std::ldexp(1.0f, row.power), less = top / 8;
    CHECK(decoded_by(row.name, {top, -top}, row.parameters) == std::vector<float>{top, -top});
    const float given = row.name == std::string("minmax") ? -less : 0;
    CHECK(decoded_by(row.name, {less, -less}, row.parameters) == std::vector<float>{given, given});
  }
}

TEST_CASE("codecs: int2 sends what is more than half of the largest magnitude") {
  CHECK(decoded_by("int2", {-4, 2, 2.1f, -2.1f, 1}) == std::vector<float>{-4, 0, 4, -4, 0});
}

}  // namespace casync::compll
