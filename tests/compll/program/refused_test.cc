// SPDX-License-Identifier: Apache-2.0
//
// Programs that are no programs, each with the first thing that is said about it.
#include <catch2/catch.hpp>
#include <string>

#include "compll/lang/front_end.h"
#include "tests/compll/program/program_texts.h"
#include "tests/compll/program/said.h"

namespace casync::compll {

TEST_CASE("refused: unknown words") {
  const Refused all[] = {
      {"@", "1:1: `@` means nothing here"},
      {"/* no end", "1:1: this comment has no end"},
      {"codec x { summary \"no end\n; }", "1:19: this text has no end"},
      {"codec x { number 12ab; }", "1:18: `12ab` is no number this language has"},
      {"codec x { number 99999999999; }", "1:18: `99999999999` is no number this language has"},
      {"codec x { number 1e999; }", "1:18: `1e999` is no number this language has"},
      {"codec x { number 0x; }", "1:18: `0x` is no number this language has"},
      {"codec x { number 010; }", "1:18: `010` is no number this language has"},
      {"codec x { number 00; }", "1:18: `00` is no number this language has"},
      {"\xc3\xa9", "1:1: `\xc3\xa9` means nothing here"},
      {"\x01", "1:1: the control character 0x01"},
      {"\xff", "1:1: a byte that is no text"},
  };
  for (const Refused& each : all) CHECK(first_said(each.source) == each.said);
}

TEST_CASE("refused: more of something than a codec has") {
  const auto list = [](int count, const std::string& before, const std::string& between, const std::string& after) {
    std::string text;
    for (int i = 0; i < count; ++i) text += (i == 0 ? "" : between) + before + std::to_string(i) + after;
    return text;
  };
  const auto sections = [&](int count) {
    return "void encode(float* g, uint8* c) { c = concat(" + list(count - 1, "", ", ", "") +
           ", g); }\nvoid decode(uint8* c, float* g) { float " + list(count - 1, "s", ", ", "") +
           "; float* y; extract(c, " + list(count - 1, "s", ", ", "") + ", y); g = y; }\n";
  };
  CHECK(first_said(sections(17)).find("more than 16 sections") != std::string::npos);
  const auto parameters = [&](int count) {
    return "param {\n" + list(count, "float p", "\n", " = 1 in 0..2;") + "\n}\n" + in_encode("");
  };
  CHECK(first_said(parameters(15)) == "OK");
  CHECK(first_said(parameters(16)) == "17:7: more than 15 parameters");
  const auto choices = [&](int count) {
    return "param { uint k = 1 in {" + list(count, "", ", ", "") + "}; }\n" + in_encode("");
  };
  CHECK(first_said(choices(16)) == "OK");
  CHECK(first_said(choices(17)).find("more than 16 values of a parameter") != std::string::npos);
  const auto name = [](std::size_t size) {
    return "float f(float " + std::string(size, 'x') + ") { return 1; }\n" + in_encode("");
  };
  CHECK(first_said(name(255)) == "OK");
  CHECK(first_said(name(256)) == "1:15: a name of 256 characters");
  const auto states = [&](int count) { return list(count, "state float* s", "\n", ";") + "\n" + in_encode(""); };
  CHECK(first_said(states(8)) == "OK");
  CHECK(first_said(states(9)) == "9:1: more than 8 states");
}

TEST_CASE("refused: wrong sentences") {
  const Refused all[] = {
      {"", "1:1: there is no `void encode(float* gradient, uint8* compressed)`"},
      {"12;", "1:1: expected `codec`, `param`, `state` or a function, found `12`"},
      {"codec { }", "1:7: expected a name behind `codec`, found `{`"},
      {"codec a { } codec b { }", "1:13: a second `codec` block"},
      {"codec a { summary = 1; }", "1:19: expected a text, a word or a number, found `=`"},
      {"codec a { summary \"x\" }", "1:23: expected `;` behind `summary`, found `}`"},
      {"param { uint x = 1 }", "1:20: expected `;` behind a parameter, found `}`"},
      {"param { uint x = 1 in 1 2; }", "1:25: expected `..` between the least and the most, found `2`"},
      {"param { uint x = 1 in {1, 2; }", "1:28: expected `}` behind the values of a parameter, found `;`"},
      {"float f(float x { return x; }", "1:17: expected `)` behind the parameters of `f`, found `{`"},
      {"float f(float x) { return x }", "1:29: expected `;` behind `return`, found `}`"},
      {"float f(float x) { return x;", "1:29: expected `}` behind the body of `f`, found the end of the file"},
      {"float f(float x) { for (;;) {} }", "1:20: this language has no such loop, found `for`"},
      {"float f(float x) { return (); }", "1:27: there is no value between `(` and `)`"},
      {"float f(float x) { return x[1; }", "1:30: expected `]` behind an index, found `;`"},
      {"float f(float x) { return x ? 1; }", "1:32: expected `:` between the two values of `?`, found `;`"},
      {"float f(float x) { return x.; }", "1:29: expected a name behind `.`, found `;`"},
      {"float f(float x) { x + ; }", "1:24: expected a value, found `;`"},
      {"float f(float x) { lambda_func h = 1; }", "1:36: expected a function, found `1`"},
      {"float f(float x) { float y = [&](float z) { return z; }; }",
       "1:43: expected `->` behind the function's parameters, found `{`"},
      {"float f(float x) { uint<4 y; }", "1:27: expected `>` behind the width of a type, found `y`"},
  };
  for (const Refused& each : all) CHECK(first_said(each.source) == each.said);
}

TEST_CASE("refused: nesting beyond what any program needs") {
  const std::string deep(100000, '(');
  CHECK(first_said("float f(float x) { return " + deep + "; }").ends_with("this nests too deeply"));
  const std::string minus(100000, '~');
  CHECK(first_said("float f(float x) { return " + minus + "x; }").ends_with("this nests too deeply"));
  std::string blocks;
  for (int i = 0; i < 20000; ++i) blocks += "if (x > 0) {";
  CHECK(first_said("float f(float x) { " + blocks + " }").ends_with("this nests too deeply"));
}

TEST_CASE("refused: parentheses nest as deeply as the language says, wherever they stand") {
  const auto nested = [](const std::string& before) {
    std::string text = "int(x)";
    for (int i = 0; i < 60; ++i) text = before + "(" + text + ")";
    return first_said(in_map("return " + text + ";"));
  };
  for (const char* before : {"", "-", "absolute", "1 + 2 * ", "x < 1 || 2 & 3 + 4 * -"}) {
    INFO(before);
    CHECK(nested(before) == "OK");
  }
  // Higher than 600 operations: each level has ten, one inside of the other.
  CHECK(nested("1 || 2 && 3 | 4 ^ 5 & 6 == 7 < 8 << 9 + 10 * ").ends_with("this nests too deeply"));
}

TEST_CASE("refused: chains inside of chains, which are as deep as they are long") {
  const auto chain = [](std::string text, int links) {
    for (int i = 0; i < links; ++i) text += " + x";
    return text;
  };
  const auto nested = [&](int levels, int links) {
    std::string text = "x";
    for (int i = 0; i < levels; ++i) text = "(" + chain(text, links) + ")";
    return text;
  };
  CHECK(first_said(in_map("return " + chain("x", 255) + ";")) == "OK");
  CHECK(first_said(in_map("return " + nested(2, 250) + ";")) == "OK");
  CHECK(first_said(in_map("return " + nested(40, 4) + ";")) == "OK");
  CHECK(first_said(in_map("return " + nested(3, 250) + ";")).ends_with("this nests too deeply"));
  CHECK(first_said(in_map("return " + nested(60, 200) + ";")).ends_with("this nests too deeply"));
  // Each call is small enough by itself.
  std::string calls = "float f0(float x) { return x; }\n";
  for (int i = 1; i < 30; ++i) {
    const std::string inner = "f" + std::to_string(i - 1) + "(x)";
    calls += "float f" + std::to_string(i) + "(float x) { return " + chain(inner, 250) + "; }\n";
  }
  CHECK(first_said(calls + in_encode("float y = f3(1);")) == "OK");
  CHECK(first_said(calls + in_encode("float y = f29(1);"))
            .ends_with("this nests too deeply, with the functions around it"));
}

TEST_CASE("refused: declarations that do not hold") {
  const Refused all[] = {
      {"codec a { sumary \"x\"; }", "1:11: a codec does not declare `sumary` (did you mean `summary`?)"},
      {"codec a { number 1; number 2; }", "1:11: `number` is declared twice"},
      {"codec a { number 300; }", "1:18: `number` is a number from 1 to 255"},
      {"codec a { class lossy; }", "1:17: there is no class `lossy`"},
      {"codec a { feedback 1; }", "1:20: `feedback` has no value but `off`"},
      {"codec a { shared_numbers off; }", "1:26: `shared_numbers` has no value"},
      {"codec a { votes 1; }", "1:17: `votes` has no value"},
      {"codec a { exact_merge yes; }", "1:23: `exact_merge` has no value"},
      {"codec a { overflow 0; }", "1:20: `overflow` is a number above zero that a float holds"},
      {"codec a { overflow 65519.99; }", "1:20: `overflow` is a number above zero that a float holds"},
      {"codec a { overflow 1e39; }", "1:20: `overflow` is a number above zero that a float holds"},
      {"codec a { overflow; }", "1:11: `overflow` is a number above zero that a float holds"},
      {"param { float* x = 1; }", "1:9: a parameter of type float*"},
      {"param { uint x = 1; uint x = 2; }", "1:26: `x` is declared twice"},
      {"param { uint x = 9 in 1..8; }", "1:14: `x` cannot be 9"},
      {"param { uint x = 1.5; }", "1:14: `x` cannot be 1.5"},
      {"param { uint x = 24 in 16..64 step 16; }", "1:14: `x` cannot be 24"},
      {"param { uint x = 4000000000 in 1..4294967295 step 2; }", "1:14: `x` cannot be 4e+09"},
      {"param { uint x = 3 in {2, 4}; }", "1:14: `x` cannot be 3"},
      {"param { uint x = 4 in 8..1; }", "1:14: the least value of `x` is above the most"},
      {"param { uint x = 20 in 10..100 step 15; }", "1:14: `x` cannot be 20"},
      {"param { uint x = 1 in 1..9 step 0; }", "1:33: a step of 0"},
      {"param { uint x = 1 in 1..9 step 1.5; }", "1:33: a step of 1.5 between whole numbers"},
      {"param { uint x = 1 in {1, 2.5}; }", "1:27: `x` cannot be 2.5"},
      {"param { uint4 x = 3 in 0..100; }", "1:27: `x` may be 100, and uint4 goes from 0 to 15"},
      {"param { uint x = 5 in -3..10; }", "1:23: `x` may be -3, and uint goes from 0 to 4294967295"},
      {"param { uint x = 5 in 0..5e9; }", "1:26: `x` may be 5e+09, and uint goes from 0 to 4294967295"},
      {"param { float x = 1 in 1..1e300; }", "1:27: `x` may be 1e+300, which a float does not hold"},
      {"param { int4 x = 1 in {1, 8}; }", "1:27: `x` may be 8, and int4 goes from -8 to 7"},
      {"param { trit x = 1 in -2..1; }", "1:23: `x` may be -2, and trit goes from -1 to 1"},
      {"param { uint4 x = 16; }", "1:15: `x` cannot be 16"},
      {"param { float x; }", "1:15: the parameter `x` has no value"},
      {"param { uint x = y; }", "1:18: a parameter's default has to be a constant, `y` is not"},
      {"param { uint x = x; }", "1:18: a parameter's default has to be a constant, `x` is not"},
      {"codec a { feedback off; } param { uint feedback = 1; }",
       "1:40: `feedback` is a parameter that the codec block declares"},
      {"float a = 1;", "1:1: a variable outside of functions has no value yet"},
      {"flaot f(flaot x) { return x; }", "1:31: there is no `void encode(float* gradient, uint8* compressed)`"},
  };
  for (const Refused& each : all) CHECK(first_said(each.source) == each.said);
}

TEST_CASE("refused: statements that mean nothing") {
  const Refused all[] = {
      {"flaot x = 1;", "2:1: there is no type `flaot`"},
      {"uint33 x = 1;", "2:1: there is no type `uint33`"},
      {"uint<40> x = 1;", "2:6: a width of 40 bits"},
      {"float x = 1; float x = 2;", "2:20: `x` is declared twice"},
      {"x = 1;", "2:1: there is no variable `x`"},
      {"float x; float y = x;", "2:20: `x` has no value here"},
      {"float x = g;", "2:11: `x` is one element, this is an array"},
      {"float* x = 1;", "2:12: `x` is an array, this is one element"},
      {"uint8* x = g;", "2:12: `x` has elements of type uint8, this has float"},
      {"g + 1;", "2:1: `+` works on one element, this is an array"},
      {"1 + 1;", "2:1: this statement changes nothing"},
      {"return 1;", "2:1: this function has no result to return"},
      {"repeat (1000) { }", "2:9: `repeat` runs 0 to 256 times"},
      {"repeat (2.5) { }", "2:9: `repeat` runs 2.5 times"},
      {"repeat (g.size) { }", "2:9: the count of `repeat` is no constant"},
      {"compressed = g;", "2:14: `compressed` is what `concat` makes"},
      {"compressed = concat();", "2:14: `concat` of nothing"},
      {"compressed = concat(g);", "3:1: `compressed` is assigned twice"},
      {"compressed += concat(g);", "2:1: `+=` works on one element, `compressed` is an array"},
      {"if (1 < 2) { compressed = concat(g); }", "2:14: `compressed` is assigned in a branch"},
      {"float* y = compressed;", "2:12: `compressed` is no value"},
      {"extract(compressed, g);", "2:1: `extract` belongs into `decode`"},
      {"float x = 1.5 % 2;", "2:15: `%` of a float"},
      {"float x = ~1.5;", "2:11: `~` of a float"},
      {"float x = g[true];", "2:13: an index that is no number"},
      {"x++;", "2:1: there is no variable `x`"},
      {"float x = 1; x |= 2;", "2:14: `|` of a float"},
      {"long x = 1;", "2:1: there is no type `long`"},
      {"unsigned char x = 1;", "2:10: expected `int` behind `unsigned`, found `char`"},
      {"float x = (float*) 1;", "2:11: a conversion to an array"},
      {"float x = g.length;", "2:13: there is no `.length`"},
      {"float x = random<float>(0, 1);", "2:11: `random` outside of a function that is applied to elements"},
      {"float* x = map(g, [&](float y) -> float { return random<uint>(256); });",
       "2:63: numbers of `random` are whole and go from 0 to 255"},
      {"float* x = map(g, [&](float y) -> float { return random<uint>(y); });",
       "2:63: the number of `random` has to be a constant, `y` is not"},
      {"float x = floor(1, 2);", "2:11: `floor` with 2 arguments"},
      {"float x = flor(1);", "2:11: there is no function `flor` (did you mean `floor`?)"},
      {"float x = compresed;", "2:11: there is no `compresed` (did you mean `compressed`?)"},
      {"(float a, float b) = 1;", "2:1: 2 variables for 1 values"},
  };
  for (const Refused& each : all) CHECK(first_said(in_encode(each.source)) == each.said);
}

TEST_CASE("refused: states that are none, or become something else") {
  const Refused declared[] = {
      {"state float v;", "1:7: a state of type float"},
      {"state uint* v;", "1:7: a state of type uint*"},
      {"state double* v;", "1:7: a state of type double*"},
      {"state flaot* v;", "1:7: there is no type `flaot`"},
      {"state float* v = g;", "1:18: what a state begins with has to be a constant, `g` is not"},
      {"state float* v = 1.0 / 0;", "1:18: what a state begins with is no constant"},
      {"state float* v; state float* v;", "1:30: `v` is declared twice"},
      {"param { uint v = 1; } state float* v;", "1:36: `v` is declared twice"},
      {"state float* a; state float* b; state float* c; state float* d; state float* e; state float* f; "
       "state float* h; state float* i; state float* j;",
       "1:129: more than 8 states"},
      {"state float* v = 1e39;", "1:18: a state that begins with a number beyond the range of float"},
      {"state float v[16];", "1:1: a state of a size of its own in a codec with `encode`"},
  };
  for (const Refused& each : declared) CHECK(first_said(each.source + ("\n" + in_encode(""))) == each.said);
  for (const char* range : {"= 16 in 16..64", "= 16 in 16..64 step 16", "= 16 in {16, 48}", "= 1 in 1..2"}) {
    INFO(range);
    CHECK(first_said("param { uint size " + std::string(range) + "; }\n" +
                     in_encode("float* h = hadamard(g, size);")) == "3:24: `size` may be no power of two");
  }
  CHECK(first_said("param { uint size = 16 in {16, 64}; }\n" + in_encode("float* h = hadamard(g, size);")) == "OK");
  const Refused assigned[] = {
      {"v = block_reduce(g, 16, max);", "2:1: the state `v` has n elements, here it becomes ceil(n / 16)"},
      {"v = scatter(largest(g, 2), 1.5, g.size / 2);",
       "2:1: the state `v` has n elements, here it becomes `g.size / 2`"},
      {"v = 1;", "3:5: `v` is an array, this is one element"},
      {"v += 1;", "3:1: `+=` works on one element"},
      {"v[0] = 1;", "3:6: expected `;` behind a statement, found `=`"},
      {"v = largest(g, 2);", "3:5: `v` has elements of type float, this has uint"},
      {"if (g[0] > 0) { v = g; }", "3:1: `v` is another array in each branch"},
      {"float* y = map(g, [&](float x) -> float { v = g; return x; });",
       "3:47: a function that is applied to elements changes `v` outside of it"},
  };
  for (const Refused& each : assigned) CHECK(first_said("state float* v;\n" + in_encode(each.source)) == each.said);
  CHECK(first_said("state float* v;\nvoid encode(float* g, uint8* compressed) { compressed = concat(g); }\n"
                   "void decode(uint8* compressed, float* gradient) { float* y; extract(compressed, y);\n"
                   "gradient = map(y, v, [&](float x, float z) -> float { return x + z; }); }\n")
            .starts_with("4:19: `v` "));
  CHECK(first_said("state float* v;\nvoid encode(float* g, uint8* compressed) { compressed = concat(g); }\n"
                   "void decode(uint8* compressed, float* gradient) { float* y; extract(compressed, y);\n"
                   "v = y; gradient = y; }\n") == "4:1: `v` is a state, and `decode` keeps none");
}

TEST_CASE("refused: a state that a function reads and never assigns there") {
  const std::string decode = "void decode(uint8* c, float* g) { float* y; extract(c, y); g = y; }\n";
  const std::string reads =
      "void encode(float* g, uint8* c) {\nc = concat(map(g, m, [&](float x, float y) -> float { return x - y; "
      "}));\n}\n";
  CHECK(first_said("state float* m;\n" + reads + "void result(float* d, float* g) { m = d; g = d; }\n" + decode) ==
        "2:1: `encode` reads the state `m` and never assigns it");
  CHECK(first_said(
            "state float* m;\nvoid encode(float* g, uint8* c) { m = g; c = concat(g); }\n"
            "void result(float* d, float* g) { g = map(d, m, [&](float x, float y) -> float { return x + y; }); }\n" +
            decode) == "3:1: `result` reads the state `m` and never assigns it");
  CHECK(first_said("state float* m;\nvoid encode(float* g, uint8* c) { c = concat(g); }\n" + decode) == "OK");
}

TEST_CASE("refused: a value made of a refused one is no mistake of its own") {
  const Source source("x.cll", in_encode("float a = reduce(g, summ);\nfloat b = a + 1;\nfloat c = b;\nuint d = ~c;"));
  const std::string said = compile(source).status().message();
  CHECK(said.find("error", said.find("error") + 1) == said.npos);
  CHECK_THAT(said, Catch::Contains("there is no way to reduce called `summ`"));
}

TEST_CASE("refused: merging that sends other sections than encoding, and results of another size") {
  const auto merge = [](const std::string& body) {
    return first_said(in_encode("") + "void merge(float* sum, uint8* compressed) {\n" + body + "\n}\n");
  };
  CHECK(merge("") == "7:1: `merge` never assigns `compressed`");
  CHECK(merge("compressed = concat(sum, sum);") == "8:14: `concat` of 2 sections, in `encode` it has 1");
  CHECK(merge("compressed = concat(sum.size);") == "8:21: this is uint, the section `g` of `encode` is float* of n");
  CHECK(merge("compressed = concat(map(sum, [&](float x) -> uint { return x; }));") ==
        "8:21: this is uint* of n, the section `g` of `encode` is float* of n");
  CHECK(merge("compressed = concat(gather(sum, largest(sum, 3)));") ==
        "8:21: this is float* of 3, the section `g` of `encode` is float* of n");
  CHECK(merge("compressed = concat(g);") == "8:21: there is no `g`");
  CHECK(merge("extract(compressed, sum);") == "8:1: `extract` belongs into `decode`");
  CHECK(merge("if (sum[0] > 0) { compressed = concat(sum); }") == "8:19: `compressed` is assigned in a branch");
  CHECK(merge("compressed = concat(sum);\n}\nvoid merge(float* sum, uint8* compressed) {") ==
        "10:1: a second function that is merge by its parameters");
  const auto result = [](const std::string& body) {
    return first_said(in_encode("") + "void result(float* decoded, float* gradient) {\n" + body + "\n}\n");
  };
  CHECK(result("") == "7:1: `result` never assigns `gradient`");
  CHECK(result("gradient = block_reduce(decoded, 16, max);") ==
        "8:12: `gradient` has n elements, this has ceil(n / 16)");
  CHECK(result("gradient = gather(decoded, largest(decoded, 2));") == "8:12: `gradient` has n elements, this has 2");
  CHECK(result("gradient = range(decoded.size);") == "8:12: `gradient` has elements of type float, this has int");
  CHECK(result("gradient = 1;") == "8:12: `gradient` needs an array, this is one element");
  CHECK(result("gradient = gradient;") == "8:12: `gradient` has no value here");
  CHECK(result("gradient = decoded; gradient = decoded;") == "8:21: `gradient` is assigned twice");
  CHECK(result("gradient += decoded;") == "8:1: `+=` works on one element, `gradient` is an array");
  CHECK(result("compressed = concat(decoded);") == "8:1: there is no variable `compressed`");
  CHECK(result("gradient = decoded;\n}\nvoid again(float* decoded, float* gradient) {\ngradient = decoded;") ==
        "10:1: a second function that is result by its parameters");
}

TEST_CASE("refused: sections that decode cannot extract") {
  const std::string encode = "void encode(float* g, uint8* compressed) { compressed = concat(g, g.size); }\n";
  const auto decode = [&](const std::string& body) {
    return first_said(encode + "void decode(uint8* compressed, float* g) {\n" + body + "\n}");
  };
  CHECK(decode("") == "2:1: `decode` never assigns `g`");
  CHECK(decode("float* y; extract(compressed, y);") ==
        "3:11: `extract` into 1 variables, `concat` in `encode` has 2 sections");
  CHECK(decode("float* y; float n; extract(compressed, y, n);") == "3:43: `n` is float, the section `section` is uint");
  CHECK(decode("extract(compressed, a, b);") == "3:21: `extract` into what is no variable");
  CHECK(decode("extract(g, a);") == "3:1: `extract` takes the compressed bytes first");
  CHECK(decode("float* y; uint n; extract(compressed, y, n); float* z; uint m; extract(compressed, z, m);") ==
        "3:64: a second `extract`");
  CHECK(decode("float* y; uint n; extract(compressed, y, n); g = block_sums(y);") ==
        "3:50: there is no function `block_sums`");
  CHECK(decode("float* y; uint n; extract(compressed, y, n); g = block_reduce(y, 16, max);") ==
        "3:50: `g` has n elements, this has ceil(n / 16)");
}

TEST_CASE("refused: a message shows the line, the place and a hint") {
  const Source source("topk.cll", in_encode("\tfloat m = reduce(g);"));
  CHECK(compile(source).status().message() ==
        "topk.cll:2:12: error: `reduce` needs to know how\n"
        " 2 | \tfloat m = reduce(g);\n"
        "   | \t          ^~~~~~~~~\n"
        "   = hint: give it sum, min, max, magnitude, count or a function of two elements");
  // A character may have several bytes, and the caret is below the one that is meant.
  const Source letters("topk.cll", in_encode("/* \xc3\xa9\xe2\x82\xac */ x = 1;  // \xc3\xa9"));
  CHECK(compile(letters).status().message().find("\n 2 | /* \xc3\xa9\xe2\x82\xac */ x = 1;  // \xc3\xa9\n"
                                                 "   |          ^\n") != std::string::npos);
}

TEST_CASE("refused: of a long line a message shows what is around the place, by whole characters") {
  std::string letters;
  for (int i = 0; i < 50000; ++i) letters += "\xe2\x82\xac";
  const Source source("x.cll", in_encode("/* " + letters + " */ x = 1;  // " + letters + "!"));
  const std::string said = compile(source).status().message();
  CHECK(said.size() < 1000);
  CHECK(said.starts_with("x.cll:2:150008: error: there is no variable `x`\n 2 | ... \xe2\x82\xac"));
  const std::string line = said.substr(said.find("\n 2 | ") + 1), carets = line.substr(line.find('\n') + 1);
  CHECK(line.substr(0, line.find('\n')).ends_with("\xe2\x82\xac ..."));
  // Each of the letters has three bytes, and one space below it.
  const std::size_t ahead = line.find("x = 1");
  std::size_t characters = 0;
  for (std::size_t i = 0; i < ahead; ++i) characters += (line[i] & 0xc0) != 0x80 ? 1 : 0;
  CHECK(carets.find('^') == characters);
}

TEST_CASE("refused: several mistakes are reported in one go, and not for ever") {
  const Source three("x.cll", in_encode("float a = b;\nfloat c = d;\nfloat e = f;"));
  const std::string said = compile(three).status().message();
  for (const char* place : {"x.cll:2:11", "x.cll:3:11", "x.cll:4:11"}) CHECK(said.find(place) != said.npos);
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "float v" + std::to_string(i) + " = nothing;\n";
  const Source thousand("x.cll", in_encode(many));
  const std::string limited = compile(thousand).status().message();
  std::size_t count = 0;
  for (std::size_t at = 0; (at = limited.find("error:", at)) != limited.npos; ++at) ++count;
  CHECK(count == Diagnostics::kMost);
}

}  // namespace casync::compll
