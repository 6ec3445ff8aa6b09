// SPDX-License-Identifier: Apache-2.0
//
// `where` and `filter` without a count: arrays with as many elements as a condition holds for. Nothing that is made of
// them depends on what stands behind their last element.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "tests/compll/program/program_texts.h"
#include "tests/compll/program/said.h"
#include "tests/compll/support/inputs.h"
#include "tests/compll/support/programs.h"
#include "tests/compll/support/run_codec.h"

namespace casync::compll {
namespace {

const std::vector<float> kX = {3, -1, 0.5f, 7, -2, 2};

/// Statements of which each example is made: `ups` are 3, 7 and 2, at the places 0, 3 and 5; there are no `huge` ones.
const std::string kSelections =
    "bool is_up(float v) { return v > 1; }\n"
    "bool is_huge(float v) { return v > 100; }\n"
    "void encode(float* x, uint8* compressed) {\n"
    "  float* ups = filter(x, is_up);\n"
    "  uint* places = where(x, is_up);\n"
    "  int* places_as_ints = filter(range(x.size), [&](int i) -> bool { return is_up(x[i]); });\n"
    "  float* huge = filter(x, is_huge);\n"
    "  float* other = map(ups, [&](float v) -> float { return v + 1; });\n";

/// The value of an expression in encode.
float value(const std::string& expression, const std::vector<float>& x = kX) {
  const std::string text = kSelections + "  float value = " + expression +
                           ";\n  compressed = concat(value);\n}\n"
                           "void decode(uint8* compressed, float* gradient) {\n  float value;\n"
                           "  extract(compressed, value);\n"
                           "  gradient = map(range(gradient.size), [&](int i) -> float { return value; });\n}\n";
  return round_trip(*from_text("value", text).codec, x)[0];
}

/// The value that decode assigns to `value`, from the places, ups and number that were sent.
float decoded(const std::string& statements, const std::vector<float>& x = kX) {
  const std::string text = kSelections + "  compressed = concat(places.size, places, gather(x, places));\n}\n" +
                           "void decode(uint8* compressed, float* gradient) {\n  uint count;\n  uint* places;\n"
                           "  float* ups;\n  float value;\n  extract(compressed, count, places, ups);\n  " +
                           statements +
                           "\n  gradient = map(range(gradient.size), [&](int i) -> float { return value; });\n}\n";
  return round_trip(*from_text("value", text).codec, x)[0];
}

std::string said_of(const std::string& statements) {
  return first_said(in_encode("float* p = filter(g, [&](float x) -> bool { return x > 0; });\n" + statements));
}

}  // namespace

TEST_CASE("selected: sizes and elements, also behind the last one") {
  CHECK(value("ups.size") == 3);
  CHECK(value("huge.size") == 0);
  CHECK(value("places.size * 10 + places_as_ints.size") == 33);
  CHECK(value("ups[0] + 10 * ups[1] + 100 * ups[2]") == 273);
  CHECK(value("places[0] + 10 * places[1] + 100 * places[2]") == 530);
  CHECK(value("places_as_ints[0] + 10 * places_as_ints[1] + 100 * places_as_ints[2]") == 530);
  for (const std::string array : {"ups", "places", "places_as_ints", "other"}) {
    INFO(array);
    for (const std::string index : {"3", "5", "6", "-1", "ups.size", "4000000000"}) {
      CHECK(value(array + "[" + index + "]") == 0);
    }
  }
  CHECK(value("other[0] + 10 * other[1] + 100 * other[2]") == 384);
  CHECK(value("huge[0]") == 0);
}

TEST_CASE("selected: reductions of the elements that there are") {
  CHECK(value("reduce(ups, sum)") == 12);
  CHECK(value("reduce(ups, min)") == 2);
  CHECK(value("reduce(ups, greater)") == 7);
  CHECK(value("reduce(map(ups, [&](float v) -> float { return 0 - v; }), max)") == -2);
  CHECK(value("reduce(ups, magnitude)") == 7);
  CHECK(value("reduce(ups, 4, smaller)") == 2);
  CHECK(value("reduce(ups, 1, smaller)") == 1);
  CHECK(value("reduce(other, sum)") == 15);
  CHECK(value("reduce(other, count)") == 3);
  CHECK(value("reduce(other, [&](float a, float b) -> float { return b > a ? b : a; })") == 8);
  CHECK(value("reduce(ups, 2.5, [&](float a, float b) -> float { return b < a ? b : a; })") == 2);
  CHECK(value("reduce(map(ups, [&](float v) -> int { return 0 - v; }), max)") == -2);
  CHECK(value("reduce(places, sum)") == 8);
  CHECK(value("reduce(places_as_ints, min)") == 0);
  CHECK(value("reduce(places, max)") == 5);
  CHECK(value("reduce(huge, min)") == kInfinity);
  CHECK(value("reduce(huge, max)") == -kInfinity);
  CHECK(value("reduce(huge, [&](float a, float b) -> float { return b > a ? b : a; })") == 0);
}

TEST_CASE("selected: arrays that are made of them") {
  CHECK(value("filter(ups, [&](float v) -> bool { return v < 5; }).size") == 2);
  CHECK(value("filter(other, [&](float v) -> bool { return v < 5; })[1]") == 3);
  CHECK(value("filter(other, 3, [&](float v) -> bool { return v != 4; })[1]") == 3);
  CHECK(value("filter(other, 3, [&](float v) -> bool { return v != 4; })[2]") == 0);
  CHECK(value("where(ups, is_up).size") == 3);
  CHECK(value("largest(map(ups, [&](float v) -> float { return 9 - v; }), 4)[2]") == 2);
  CHECK(value("largest(map(ups, [&](float v) -> float { return 9 - v; }), 4)[3]") == 4294967296.0f);
  CHECK(value("kth_largest(other, 3)") == 3);
  CHECK(value("kth_largest(other, 4)") == 0);
  CHECK(value("histogram(map(ups, [&](float v) -> int { return v > 2; }), 2)[0]") == 1);
  CHECK(value("histogram(map(ups, [&](float v) -> uint8 { return v > 2; }), 2)[1]") == 2);
  CHECK(value("range(ups.size).size") == 3);
  CHECK(value("reduce(map(ups, range(ups.size), [&](float v, int i) -> float { return v * i; }), sum)") == 11);
  CHECK(value("reduce(scatter(places, gather(x, places), x.size), sum)") == 12);
  CHECK(value("reduce(scatter(places_as_ints, 1, x), sum)") == 0.5f);
  CHECK(value("reduce(scatter(map(places, [&](uint i) -> uint8 { return i; }), 9, x), sum)") == 24.5f);
  CHECK(value("reduce(scatter_add(map(places, [&](uint i) -> uint { return i * 0; }), 1, x), sum)") == 12.5f);
  CHECK(value("reduce(gather(places, range(6)), sum)") == 8);
}

TEST_CASE("selected: from blocks, and from what has a size of its own") {
  const std::vector<float> x = laplace(200, 3);
  std::vector<float> tops;
  for (std::size_t i = 0; i < x.size(); i += 16) {
    tops.push_back(
        *std::max_element(x.begin() + static_cast<long>(i), x.begin() + static_cast<long>(std::min(i + 16, x.size()))));
  }
  const auto large = [](float v) { return v > 2.5f; };
  const auto wanted = static_cast<float>(std::count_if(tops.begin(), tops.end(), large));
  REQUIRE((wanted > 0 && wanted < 13));
  const std::string is_large = "[&](float v) -> bool { return v > 2.5; }";
  CHECK(value("where(block_reduce(x, 16, max), " + is_large + ").size", x) == wanted);
  CHECK(value("reduce(filter(block_reduce(x, 16, max), " + is_large + "), min)", x) > 2.5f);
  CHECK(value("filter(gather(x, range(x.size / 2)), " + is_large + ").size", x) ==
        static_cast<float>(std::count_if(x.begin(), x.begin() + 100, large)));
}

TEST_CASE("selected: decode knows as many elements as were sent") {
  CHECK(decoded("value = count;") == 3);
  CHECK(decoded("value = places.size;") == 3);
  CHECK(decoded("value = ups.size;") == 3);
  CHECK(decoded("value = range(count).size;") == 3);
  CHECK(decoded("value = reduce(ups, min);") == 2);
  CHECK(decoded("value = places[3];") == 0);
  CHECK(decoded("value = reduce(map(ups, range(count), [&](float v, int k) -> float { return v * k; }), sum);") == 11);
  CHECK(decoded("value = filter(ups, is_up).size;") == 3);
  CHECK(decoded("value = reduce(ups, min);", {0, 0}) == kInfinity);
}

TEST_CASE("selected: a payload is as large as what was selected") {
  const std::string text =
      "void encode(float* x, uint8* c) {\n"
      "  float* ups = filter(x, [&](float v) -> bool { return v > 0; });\n  c = concat(ups.size, ups);\n}\n"
      "void decode(uint8* c, float* x) {\n  uint count;\n  float* ups;\n  extract(c, count, ups);\n"
      "  float mean = reduce(ups, sum) / count;\n"
      "  x = map(range(x.size), [&](int i) -> float { return mean; });\n}\n";
  const std::unique_ptr<Codec> codec = from_text("ups", text).codec;
  const Elements n = 50000;
  for (const std::size_t ups : {0, 1, 100, 4096, 20000, 50000}) {
    std::vector<float> x(n, -1);
    for (std::size_t i = 0; i < ups; ++i)
      x[i * (n / std::max<std::size_t>(ups, 1))] = 1 + 0.125f * static_cast<float>(i % 7);
    const Coded coded = encode(*codec, x);
    CHECK(coded.payload.size() <= 200 + ups * 4);
    CHECK(codec->encoded_bound(n) >= coded.payload.size());
    double sum = 0;
    for (const float each : x) sum += each > 0 ? each : 0;
    if (ups != 0) CHECK(decode(*codec, coded, n)[0] == Approx(sum / static_cast<double>(ups)));
  }
}

TEST_CASE("selected: places are sent in as many bytes, whichever integers they are") {
  const auto bytes = [](const std::string& type) {
    const std::string text = "void encode(float* x, uint8* c) {\n  " + type +
                             "* p = filter(range(x.size), [&](uint i) -> bool { return x[i] > 1.5; });\n"
                             "  c = concat(p);\n}\nvoid decode(uint8* c, float* x) {\n  " +
                             type + "* p;\n  extract(c, p);\n  x = scatter(p, 1.0, x.size);\n}\n";
    const std::unique_ptr<Codec> codec = from_text("places", text).codec;
    const std::vector<float> x = gaussian(30000, 3);
    const Coded coded = encode(*codec, x);
    const std::vector<float> decoded = decode(*codec, coded, x.size());
    for (std::size_t i = 0; i < x.size(); ++i) CHECK(decoded[i] == (x[i] > 1.5f ? 1.0f : 0.0f));
    return coded.payload.size();
  };
  CHECK(bytes("uint") < 30000 / 8);
  CHECK(bytes("int") == bytes("uint"));
}

TEST_CASE("selected: programs are refused that would need the number of elements earlier than it is known") {
  const Refused all[] = {
      {"float* s = sort(p);", "3:17: `sort` of as many elements as a condition holds for"},
      {"float* s = hadamard(p, 16);", "3:21: `hadamard` of as many elements as a condition holds for"},
      {"float s = reduce(p, 0, [&](float a, float b) -> float { return a + b; });",
       "3:11: a reduction by this function of as many elements as a condition holds for"},
      {"uint* s = largest(p, p.size);", "3:22: `largest` of a size that depends on elements"},
      {"uint* s = largest(g, p.size / 2);", "3:22: `largest` of a size that depends on elements"},
      {"float* s = filter(g, p.size, [&](float x) -> bool { return x > 0; });",
       "3:22: `filter` of a size that depends on elements"},
      {"int* s = range(p.size + 1);", "3:16: `range` of a size that depends on elements"},
      {"float* s = map(p, g, [&](float a, float b) -> float { return a + b; });",
       "3:19: `map` over `filter(g, ...)` and over n elements"},
      {"float* q = filter(g, [&](float x) -> bool { return x > 0; });\n"
       "float* s = map(p, q, [&](float a, float b) -> float { return a + b; });",
       "4:19: `map` over `filter(g, ...)` and over `filter(g, ...)` elements"},
      {"float* s = block_reduce(p, 16, max);", "3:25: blocks of what has `filter(g, ...)` elements, not n"},
      {"uint* q = filter(g, [&](float x) -> bool { return x > 0; });",
       "3:11: `q` has elements of type uint, this has float"},
      {"uint* s = filter(range(20), [&](uint i) -> bool { return g[i] > 0; });",
       "3:18: `filter` without a count, of 20 elements whatever n is"},
      {"uint* s = where(g, [&](float x) -> float { return x; });",
       "3:20: `where` needs a function that returns bool, this returns float"},
  };
  for (const Refused& each : all) CHECK(said_of(each.source) == each.said);
  CHECK(said_of("float y = p.size; float z = reduce(p, sum);") == "OK");
}

TEST_CASE("selected: sections that are not sent as they are extracted are refused") {
  const auto said = [](const std::string& sent, const std::string& merged, const std::string& received) {
    const std::string begin =
        "float* v = filter(g, [&](float x) -> bool { return x > 0; });\n"
        "uint* p = where(g, [&](float x) -> bool { return x > 1; });\n";
    return first_said(
        "void encode(float* g, uint8* c) {\n" + begin + "c = concat(" + sent + ");\n}\n" +
        (merged.empty() ? "" : "void merge(float* g, uint8* c) {\n" + begin + "c = concat(" + merged + ");\n}\n") +
        "void decode(uint8* c, float* g) {\nuint n; uint* p; float* v;\n" + received + "\n}\n");
  };
  const std::string zeros = "g = map(range(g.size), [&](int i) -> float { return 0; });";
  const std::string both = "extract(c, p, v); " + zeros;
  CHECK(said("p, v", "", both) == "OK");
  CHECK(said("rising(p), packed(v)", "", "extract(c, rising(p), packed(v)); " + zeros) == "OK");
  CHECK(said("p, v", "", "extract(c, rising(p), packed(v)); " + zeros) == "OK");
  CHECK(said("p, v", "", "extract(c, packed(p), v); " + zeros) ==
        "8:12: the section `p` of `encode` is coded by `rising`, and here it is not");
  CHECK(said("packed(p), v", "", both) == "8:12: the section `p` of `encode` is coded by `packed`, and here it is not");
  CHECK(said("p, v", "p, v", both) == "OK");
  CHECK(said("p, v", "p, gather(g, p)", both) ==
        "9:15: this is float* of `where(g, ...)`, the section `v` of `encode` is float* of `filter(g, ...)`");
  CHECK(said("v.size, v", "p.size, v", "extract(c, n, v); " + zeros) ==
        "9:12: the section `section` of `encode` is the number of elements of `filter(g, ...)`, and here it is not");
  CHECK(said("v", "", "extract(c, v); float s = v.size; " + zeros) ==
        "8:26: nobody has sent how many elements `filter(g, ...)` gave");
  CHECK(said("p, v", "", "extract(c, p, v); g = scatter(p, v, g.size);") ==
        "8:34: `scatter` of `filter(g, ...)` values to `where(g, ...)` places");
  CHECK(said("p, v", "", "extract(c, p, v); g = v;") == "8:23: `g` has n elements, this has `filter(g, ...)`");
}

TEST_CASE("selected: sort by greater and smaller, unless the file has functions of these names") {
  CHECK(value("sort(x, greater)[0]") == 7);
  CHECK(value("sort(x, greater)[5]") == -2);
  CHECK(value("sort(x, smaller)[0]") == -2);
  CHECK(value("sort(map(x, [&](float v) -> int8 { return v; }), greater)[1]") == 3);
  CHECK(first_said(in_encode("lambda_func greater = [&](float a) -> bool { return a > 0; };\n"
                             "float* s = sort(g, greater);")) == "3:20: `greater` takes 1 arguments, here are 2");
}

}  // namespace casync::compll
