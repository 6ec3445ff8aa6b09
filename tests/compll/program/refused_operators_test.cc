// SPDX-License-Identifier: Apache-2.0
//
// Operators and functions of elements that the checker refuses, each with its first message.
#include <catch2/catch.hpp>
#include <string>

#include "compll/lang/check/operator_checks.h"
#include "compll/lang/front_end.h"
#include "tests/compll/program/program_texts.h"
#include "tests/compll/program/said.h"
#include "tests/compll/random_programs/calls.h"
#include "tests/compll/random_programs/program_writer.h"

namespace casync::compll {

TEST_CASE("refused: operators that are given what they cannot take") {
  const Refused all[] = {
      {"float* y = map(g);", "2:12: `map` with 1 arguments"},
      {"float* y = map(1, [&](float x) -> float { return x; });", "2:16: `map` needs an array, this is one element"},
      {"float* y = map(g, 1);", "2:19: `map` needs a function here"},
      {"float* y = map(g, [&](float x, float z) -> float { return x; });",
       "2:19: `the function` takes 2 arguments, here are 1"},
      {"float m = reduce(g);", "2:11: `reduce` needs to know how"},
      {"float m = reduce(g, summ);", "2:21: there is no way to reduce called `summ`"},
      {"float m = reduce(g, 0, sum);", "2:21: `sum` begins by itself"},
      {"float m = reduce(g, [&](float a, float b) -> float { return a + b; });",
       "2:11: a reduction by this function needs the value it begins with"},
      {"float m = reduce(g, 0, [&](float a, float b) -> uint { return 1; });",
       "2:24: the function gives uint, the array has float"},
      {"float* m = block_reduce(g, 0, max);", "2:28: the size of a block is a parameter or a number from 1 to 65536"},
      {"float* y = spread(g, 16);", "2:19: `spread` of n elements, for blocks there are ceil(n / 16)"},
      {"float* s = block_reduce(g, 16, max);\nfloat* y = map(g, s, [&](float a, float b) -> float { return a; });",
       "3:19: `map` over n and over ceil(n / 16) elements"},
      {"float* s = block_reduce(g, 16, max); float* y = spread(s, 32);",
       "2:56: `spread` of ceil(n / 16) elements, for blocks there are ceil(n / 32)"},
      {"int* r = range(reduce(g, count));", "2:16: `range` of a size that depends on elements"},
      {"int* r = range(g.size / 2); float* y = map(r, g, [&](int i, float x) -> float { return x; });",
       "2:47: `map` over `g.size / 2` and over n elements"},
      {"float* s = sort(g, [&](float a, float b) -> bool { return random<float>(0, 1) < a; });",
       "2:20: `sort` by a function that draws random numbers"},
      {"float m = reduce(g, 0, [&](float a, float b) -> float { return a + random<float>(0, 1) * b; });",
       "2:24: `reduce` by a function that draws random numbers"},
      {"int* r = range(1.5);", "2:16: a size that is no integer"},
      {"int* r = range(-1);", "2:16: a size below zero"},
      {"uint* p = largest(g, reduce(g, count));", "2:22: `largest` of a size that depends on elements"},
      {"uint* p = largest(g);", "2:11: `largest` with 1 arguments"},
      {"uint* p = largest(map(g, [&](float x) -> double { return x; }), 3);", "2:19: `largest` of doubles"},
      {"uint* p = where(g, 3, [&](float x) -> float { return x; });",
       "2:23: `where` needs a function that returns bool, this returns float"},
      {"float* p = filter(g);", "2:12: `filter` with 1 arguments"},
      {"float* s = sort(g, [&](float a, float b) -> float { return a; });",
       "2:20: `sort` needs a function of two elements that returns bool"},
      {"bool* f = map(g, [&](float x) -> bool { return x > 0; }); bool* s = sort(f);",
       "2:69: `sort` of bools needs to know how"},
      {"float* p = gather(g, g);", "2:22: `gather` goes to places, these are floats"},
      {"float* p = scatter(g, g, g.size);", "2:20: `scatter` goes to places, these are floats"},
      {"uint* p = largest(g, 2); float* y = scatter(p, g, g.size);", "2:48: `scatter` of n values to 2 places"},
      {"uint* p = largest(g, 2); float* y = scatter_add(p, p, g);",
       "2:52: `scatter_add` of uints into an array of floats"},
      {"float* h = hadamard(g, 48);", "2:24: the size of a block of `hadamard` is a power of two"},
      {"float* h = hadamard(range(g.size), 64);", "2:21: `hadamard` of ints"},
      {"float* f = filter(g, reduce(g, count), [&](float x) -> bool { return true; });",
       "2:22: `filter` of a size that depends on elements"},
      {"float* f = filter(1, 3, [&](float x) -> bool { return true; });",
       "2:19: `filter` needs an array, this is one element"},
      {"float* f = filter(g, 3, [&](float x) -> float { return x; });",
       "2:25: `filter` needs a function that returns bool, this returns float"},
  };
  for (const Refused& each : all) CHECK(first_said(in_encode(each.source)) == each.said);
}

TEST_CASE("refused: calls of operators that random programs use by a form") {
  for (const test::CallForm& form : test::call_forms()) {
    INFO(form.text);
    CHECK(!form.refused.empty());
    for (const test::RefusedCall& each : form.refused) CHECK(first_said(in_encode(each.steps)) == each.said);
  }
}

TEST_CASE("refused: every operator with more arguments than it takes") {
  CHECK(operator_calls().size() >= 18);
  for (const OperatorCall& each : operator_calls()) {
    if (each.most == kAnyNumber) continue;
    const std::string word(each.word);
    INFO(word << " takes " << each.most);
    REQUIRE(each.most < 6);
    CHECK(first_said(in_encode("float y = " + word + "(g, g, g, g, g, g);")) ==
          "2:11: `" + word + "` with 6 arguments");
  }
}

TEST_CASE("refused: every operator in a function that is applied to elements") {
  for (const OperatorCall& each : operator_calls()) {
    const std::string word(each.word);
    CHECK(first_said(in_map("\nreturn " + word + "(x);")) ==
          "3:8: `" + word + "` in a function that is applied to elements");
  }
}

TEST_CASE("random programs: they use every operator but those on matrices") {
  std::string all;
  for (std::uint64_t seed = 0; seed < 200; ++seed) all += test::random_program(seed);
  for (const OperatorCall& each : operator_calls()) {
    const std::string word(each.word);
    if (word == "matmul" || word == "orthonormalize" || word == "exchange") continue;
    INFO(word);
    CHECK(all.find(" " + word + "(") != all.npos);
  }
}

TEST_CASE("refused: selections of what has no order, no place or no size") {
  const Refused all[] = {
      {"uint* p = largest(g, 3, [&](float x) -> bool { return x > 0; });", "2:25: `largest` of bools"},
      {"uint* p = largest(g, 3, [&](float x) -> double { return x; });", "2:25: `largest` of doubles"},
      {"uint* p = largest(g, 3, [&](float x) -> (float, float) { return (x, x); });",
       "2:25: `largest` needs a function with one result"},
      {"uint* p = largest(g, 3, magnitude);", "2:25: `largest` needs a function here"},
      {"uint* p = largest(g, uint(g[0]));", "2:22: `largest` of a size that depends on elements"},
      {"uint* p = largest(g, selected(0.5, reduce(g, count)));", "2:22: `largest` of a size that depends on elements"},
      {"uint* p = largest(3, g);", "2:19: `largest` needs an array, this is one element"},
      {"float* p = largest(g, 3);", "2:12: `p` has elements of type float, this has uint"},
      {"uint* p = largets(g, 2);", "2:11: there is no function `largets` (did you mean `largest`?)"},
      {"uint n = 0; repeat (200) { n = n * 2 + g.size + n; } uint* p = largest(g, n);",
       "2:75: the size is computed in more than 1000 steps"},
      {"uint* p = where(g, 3, g);", "2:23: `where` needs a function here"},
      {"uint* p = where(g, 3, [&](float x) -> bool { return largest(g, 2)[0] > 0; });",
       "2:53: `largest` in a function that is applied to elements"},
      {"float* p = gather(g, 3);", "2:22: `gather` needs an array, this is one element"},
      {"float* p = gather(g, map(g, [&](float x) -> bool { return true; }));",
       "2:22: `gather` goes to places, these are bools"},
      {"float* p = scatter(largest(g, 2), 1);", "2:12: `scatter` with 2 arguments"},
      {"float* p = scatter(largest(g, 2), 1, -1);", "2:38: a size below zero"},
      {"float* p = scatter(largest(g, 2), g[0] > 0, g.size);", "2:35: `scatter` of bools"},
      {"float* p = scatter_add(largest(g, 2), 1, reduce(g, count));",
       "2:42: `scatter_add` of a size that depends on elements"},
      {"float* s = sort(g, absolute);", "2:20: `absolute` takes 1 arguments, here are 2"},
      {"float* s = sort(g, [&](float a, float b) -> bool { return sort(g)[0] > a; });",
       "2:59: `sort` in a function that is applied to elements"},
      {"float* h = hadamard(g, g.size);", "2:24: the size of a block is a parameter or a number from 1 to 65536"},
      {"float* x = block_reduce(largest(g, 3), 2, max);", "2:25: blocks of what has 3 elements, not n"},
      {"float* y = map(largest(g, 2), largest(g, 3), [&](uint a, uint b) -> float { return a; });",
       "2:31: `map` over 2 and over 3 elements"},
  };
  for (const Refused& each : all) CHECK(first_said(in_encode(each.source)) == each.said);
}

TEST_CASE("refused: numbers drawn where nobody says which, and parameters that nobody can set") {
  CHECK(first_said("void encode(float* g, uint8* compressed) { compressed = concat(g); }\n"
                   "void decode(uint8* compressed, float* gradient) { float* y; extract(compressed, y);\n"
                   "gradient = map(y, [&](float x) -> float { return x + random<float>(0, 1); }); }\n") ==
        "3:54: `random` in `decode`, which is told neither seed nor step");
  CHECK(first_said(in_encode("") +
                   "void merge(float* sum, uint8* compressed, uint more) { compressed = concat(sum); }") ==
        "7:48: `merge` takes `more`, which is no parameter of the codec");
  CHECK(first_said(in_encode("") + "void result(float* sum, float* gradient, uint more) { gradient = sum; }") ==
        "7:47: `result` takes `more`, which is no parameter of the codec");
  CHECK(first_said("param { uint more = 1; }\n" + in_encode("") +
                   "void merge(float* sum, uint8* compressed, uint more) { compressed = concat(sum); }") == "OK");
}

TEST_CASE("refused: functions of elements that do more than that") {
  const Refused all[] = {
      {"if (x > 0) { return x; }", "2:19: `the function` does not return on every way through it"},
      {"return g;", "2:49: the function's result is one element, this is an array"},
      {"return (x, x);", "2:49: the function has 1 results, this returns 2"},
      {"return reduce(g, sum);", "2:49: `reduce` in a function that is applied to elements"},
      {"return x; x = 2;", "2:52: this comes after `return` and never runs"},
      {"return;", "2:42: `return` without a value"},
  };
  for (const Refused& each : all) CHECK(first_said(in_map(each.source)) == each.said);
  CHECK(first_said(in_encode("float s = 0;\nfloat* y = map(g, [&](float x) -> float { s = x; return x; });")) ==
        "3:47: a function that is applied to elements changes `s` outside of it");
  CHECK(first_said("float f(float x) { return f(x); }\n" + in_encode("float y = f(1);"))
            .ends_with("functions call each other more than 32 deep here"));
  std::string doubling = "float f0(float x) { return x; }\n";
  for (int i = 1; i < 30; ++i) {
    const std::string inner = "f" + std::to_string(i - 1);
    doubling += "float f" + std::to_string(i) + "(float x) { return " + inner + "(x) + " + inner + "(x); }\n";
  }
  CHECK(first_said(doubling + in_encode("float y = f29(1);")) == "2:28: the program becomes too large here");
}

TEST_CASE("refused: small texts of large programs") {
  const auto repeated = [](std::size_t count, const std::string& text, const std::string& between) {
    std::string all = text;
    for (std::size_t i = 1; i < count; ++i) all += between + text;
    return all;
  };
  const std::string sum = "(" + repeated(250, "x", " + ") + ")";
  const std::string long_sum = "float f(float x) { return " + repeated(40, sum, " + ") + "; }\n";
  CHECK(first_said(long_sum + in_encode("float y = f(1);")) == "OK");
  CHECK(first_said(long_sum + in_encode("float y = 0;\nrepeat (200) { y = f(y); }"))
            .ends_with("the program becomes too large here"));
  std::string names;
  for (int i = 0; i < 30; ++i) names += "float a" + std::to_string(i) + ";\n";
  CHECK(first_said(in_encode("repeat (200) { repeat (90) { " + names + " } }")).ends_with("more than 20000 variables"));
  const std::string draws = repeated(250, "random<uint>()", " + ");
  CHECK(first_said("uint f(uint x) { return x + " + draws + "; }\n" +
                   in_map("uint y = 0;\nrepeat (256) { y = f(y); }\nreturn y;")) == "OK");
  CHECK(first_said("uint f(uint x) { return x + " + draws + "; }\n" +
                   in_map("uint y = 0;\nrepeat (256) { y = f(y); y = f(y); }\nreturn y;"))
            .ends_with("more than 65536 random numbers for each element"));
}

TEST_CASE("checked: long lists of names and of choices, in time that grows with their length") {
  std::string globals;
  for (int i = 0; i < 15000; ++i) globals += "float a" + std::to_string(i) + ";\n";
  CHECK(first_said(globals + in_encode("a0 = 1;")) == "OK");
  std::string picks = "float y = a;";
  for (int i = 0; i < 60; ++i) picks += " y = b < y ? y : y;";
  CHECK(first_said(in_encode("float m = reduce(g, [&](float a, float b) -> float { " + picks + " return y; });")) ==
        "OK");
}

}  // namespace casync::compll
