// SPDX-License-Identifier: Apache-2.0
//
// Names that mean one thing here and another there, and numbers as they are written.
#include <catch2/catch.hpp>
#include <limits>
#include <string>
#include <vector>

#include "tests/compll/program/program_texts.h"
#include "tests/compll/program/said.h"
#include "tests/compll/support/programs.h"

namespace casync::compll {
namespace {

const std::string kSettings = "param Settings { float clip = 2.5 in 0.5..8; uint bits = 3 in 1..8; }\n";

std::vector<float> round_trip_of(const std::string& text, const std::vector<float>& x,
                                 const Parameters& parameters = {}) {
  return round_trip(*from_text("names", text, parameters).codec, x);
}

/// The value of an expression without variables, as a float.
float value_of(const std::string& expression) {
  const std::string encode = "void encode(float* g, uint8* compressed) {\n  float value = " + expression +
                             ";\n  compressed = concat(map(g, [&](float x) -> float { return value; }));\n}\n";
  return round_trip_of(encode + kDecode, {0})[0];
}

}  // namespace

TEST_CASE("names: a parameter of a block is the parameter, whatever variable has its name") {
  const std::string encode =
      "void encode(float* g, uint8* compressed, Settings s) {\n"
      "  float clip = 1;\n"
      "  uint bits = 8;\n"
      "  uint<s.bits>* cut = map(g, [&](float x) -> uint<s.bits> { return x; });\n"
      "  compressed = concat(map(g, cut, [&](float x, uint c) -> float { return min(x, s.clip) + c * clip; }));\n"
      "}\n";
  CHECK(round_trip_of(kSettings + encode + kDecode, {4, 9}) == std::vector<float>{6.5, 9.5});
  CHECK(round_trip_of(kSettings + encode + kDecode, {4, 9}, {{"clip", 3}, {"bits", 2}}) == std::vector<float>{6, 6});
}

TEST_CASE("names: a variable hides the parameter of its name, and is no constant") {
  CHECK(first_said(kSettings + in_encode("uint bits = 8; uint<bits> x = 1;")) ==
        "3:21: the width of a type has to be a constant, `bits` is not");
  CHECK(first_said(kSettings + in_encode("float clip = 1; repeat (clip) { }")) ==
        "3:25: the count of `repeat` has to be a constant, `clip` is not");
  CHECK(first_said(kSettings + in_encode("uint<bits> x = 1;")) == "OK");
}

TEST_CASE("names: a parameter is the width of a conversion, also in parentheses") {
  const std::string encode =
      "void encode(float* g, uint8* compressed, Settings s) {\n"
      "  compressed = concat(map(g, [&](float x) -> float {\n"
      "    return uint<s.bits>(x) + (uint<(s.bits - 1)>) x * 10 + (int<(1 << 1)>) -x * 100;\n"
      "  }));\n"
      "}\n";
  CHECK(round_trip_of(kSettings + encode + kDecode, {2, 9}) == std::vector<float>{-178, -163});
  CHECK(first_said(in_encode("float x = uint<3>;")) == "2:18: expected `(` behind the type of a conversion, found `;`");
}

TEST_CASE("names: a conversion at the beginning of parentheses is no type in parentheses") {
  CHECK(value_of("(uint<4>(5.5) + 1) - 2") == 4.0f);
  CHECK(value_of("(uint<4>(5.5)) - 2") == 3.0f);
  CHECK(value_of("(uint<(1 + 1)>(7) * 2) * (int<4>(3))") == 18.0f);
  CHECK(value_of("(uint<(1 + 1)>) -1") == 0.0f);
}

TEST_CASE("names: the width of a function's result may be in parentheses, and long") {
  const std::string text = kSettings +
                           "uint<(bits - 1)> cut(float x) { return x; }\n"
                           "uint<bits + 1 - 1 + 1 - 1 + 1 - 1 + 1 - 1>* all_of(float* x) {\n"
                           "  return map(x, [&](float each) -> uint<(bits)> { return each; });\n"
                           "}\n"
                           "void encode(float* g, uint8* compressed) {\n"
                           "  compressed = concat(map(g, all_of(g), [&](float x, uint y) -> float {\n"
                           "    return cut(x) + y * 10;\n"
                           "  }));\n"
                           "}\n";
  CHECK(round_trip_of(text + kDecode, {2, 9}) == std::vector<float>{22, 73});
}

TEST_CASE("names: a parameter among those of encode has the width that its type says") {
  const std::string text =
      "void encode(float* g, uint8* compressed, uint<4> top) {\n"
      "  compressed = concat(map(g, [&](float x) -> float { return min(x, top); }));\n"
      "}\n";
  CHECK(round_trip_of(text + kDecode, {3, 20}, {{"top", 15}}) == std::vector<float>{3, 15});
  CHECK_THROWS_WITH(from_text("names", text + kDecode, {{"top", 16}}), Catch::Contains("`top` cannot be 16"));
}

TEST_CASE("names: a width that decode extracts is that of the parameter which was sent") {
  const std::string text =
      "param { uint bits = 4 in 1..8; uint width = 8 in 1..8; }\n"
      "void encode(float* g, uint8* compressed) {\n"
      "  uint8 sent = bits;\n"
      "  compressed = concat(sent, map(g, [&](float x) -> uint8 { return x; }));\n"
      "}\n"
      "void decode(uint8* compressed, float* gradient) {\n"
      "  uint8 width;\n"
      "  uint8* levels;\n"
      "  extract(compressed, width, levels);\n"
      "  uint<width>* cut = map(levels, [&](int q) -> uint<width> { return q; });\n"
      "  gradient = map(cut, [&](int q) -> float { return q; });\n"
      "}\n"
      "void result(float* decoded, float* gradient) {\n"
      "  uint<width>* wide = map(decoded, [&](float x) -> uint<width> { return x * 2; });\n"
      "  gradient = map(wide, [&](int q) -> float { return q; });\n"
      "}\n";
  const Written four = from_text("names", text);
  CHECK(four.program->parameters[0].fixed);  // another value is another program
  CHECK(round_trip(*four.codec, std::vector<float>{3, 200}) == std::vector<float>{3, 15});
  CHECK(round_trip_of(text, {3, 200}, {{"bits", 2}}) == std::vector<float>{3, 3});
  std::vector<float> result(2);
  four.codec->result(std::vector<float>{3, 100}.data(), 2, {}, {}, result.data());
  CHECK(result == std::vector<float>{6, 200});
}

TEST_CASE("names: a width that decode extracts is none in a function with a variable of that name") {
  const auto text = [](const std::string& global, const std::string& own) {
    return "param { uint bits = 2 in 1..8; }\n" + global + "\n" + "float cut(float x) { " + own +
           "uint<sent> y = x; return y; }\n"
           "void encode(float* g, uint8* c) { c = concat(uint8(bits), map(g, [&](float x) -> uint8 { return x; })); }\n"
           "void decode(uint8* c, float* g) {\n" +
           (global.empty() ? "  uint8 sent;\n" : "") +
           "  uint8* q;\n"
           "  extract(c, sent, q);\n"
           "  uint<sent>* narrow = map(q, [&](int v) -> uint<sent> { return v; });\n"
           "  g = map(narrow, [&](int v) -> float { return cut(v); });\n"
           "}\n";
  };
  const std::string refusal = "the width of a type has to be a constant, `sent` is not";
  CHECK(first_said(text("", "uint sent = 5; ")) == "3:42: " + refusal);
  CHECK(first_said(text("uint8 sent;", "uint sent = 5; ")) == "3:42: " + refusal);
  CHECK(round_trip_of(text("uint8 sent;", ""), {1, 9}) == std::vector<float>{1, 3});
}

TEST_CASE("names: the size of a function's own array, in decode, too") {
  const std::string text =
      "float mean(float* gradient) { return reduce(gradient, sum) / gradient.size; }\n"
      "void encode(float* g, uint8* compressed) { compressed = concat(block_reduce(g, 16, max), g); }\n"
      "void decode(uint8* compressed, float* gradient) {\n"
      "  float* tops, y;\n"
      "  extract(compressed, tops, y);\n"
      "  float top = mean(tops);\n"
      "  gradient = map(y, range(gradient.size), [&](float x, int i) -> float { return i == 0 ? top : gradient.size; "
      "});\n"
      "}\n";
  std::vector<float> x(20, 1);
  x[17] = 3;
  std::vector<float> wanted(20, 20);
  wanted[0] = 2;  // of two blocks
  CHECK(round_trip_of(text, x) == wanted);
}

TEST_CASE("names: a variable in a block may have the name of the output") {
  const std::string text =
      "void encode(float* g, uint8* compressed) { compressed = concat(g); }\n"
      "void decode(uint8* compressed, float* gradient) {\n"
      "  float* y;\n"
      "  extract(compressed, y);\n"
      "  float last = 0;\n"
      "  repeat (2) { float gradient = 3; gradient += 1; gradient = gradient * 2; last = gradient; }\n"
      "  gradient = map(y, [&](float x) -> float { return x + last; });\n"
      "}\n";
  CHECK(round_trip_of(text, {1}) == std::vector<float>{9});
}

TEST_CASE("numbers: a real is rounded once, and -2147483648 alone is an int") {
  // Just above the middle of two floats, and nearer to it than to any other double.
  CHECK(value_of("1.00000005960464477539062500001") == 1.00000011920928955078125f);
  CHECK(value_of("1e39") == std::numeric_limits<float>::infinity());
  CHECK(value_of("1e-60") == 0.0f);
  CHECK(value_of("0 + 00.5 + 0x010") == 16.5f);
  CHECK(value_of("-2147483648 / 2") == -1073741824.0f);
  CHECK(value_of("-2147483648.0 - 1000000000") == -3147483648.0f);
  CHECK(value_of("-uint(2147483648)") == 2147483648.0f);
}

TEST_CASE("numbers: each quotient in the count of a `repeat` is rounded down, not the count alone") {
  const auto runs = [](const std::string& count) {
    const std::string encode =
        "param { uint levels = 7 in 1..8; }\n"
        "void encode(float* g, uint8* compressed) {\n"
        "  float value = 0;\n"
        "  repeat (" +
        count +
        ") { value += 1; }\n"
        "  compressed = concat(map(g, [&](float x) -> float { return value; }));\n"
        "}\n";
    return round_trip_of(encode + kDecode, {0})[0];
  };
  CHECK(runs("levels / 2") == 3.0f);
  CHECK(runs("levels / 2 * 2") == 6.0f);
  CHECK(runs("levels / 2 + 5 / 2") == 5.0f);
  CHECK(runs("(levels + 1) / 2") == 4.0f);
}

TEST_CASE("numbers: a parameter's range may end at the largest float as it is usually written") {
  CHECK(first_said("param { float x = 1 in -3.4028235e38..3.4028235e38; }\n" + in_encode("float y = x;")) == "OK");
}

}  // namespace casync::compll
