// SPDX-License-Identifier: Apache-2.0
//
// Functions that assign variables outside of them, and return in branches.
#include <catch2/catch.hpp>
#include <string>
#include <utility>

#include "tests/compll/program/program_texts.h"
#include "tests/compll/program/said.h"
#include "tests/compll/support/programs.h"

namespace casync::compll {
namespace {

/// The body of `float f(float x)`, which assigns `low`, and the same in C++.
struct Assigning {
  const char* text;
  float (*meaning)(float x, float& low);
};

// The macro keeps the two the same.
#define COMPLL_BODY(...)                                           \
  {                                                                \
#__VA_ARGS__, [](float x, float& low) -> float { __VA_ARGS__ } \
  }
const Assigning kBodies[] = {
    COMPLL_BODY(if (x > 0) return 1; low = 5; return 2;),
    COMPLL_BODY(if (x > 0) {
      low = 3;
      return 1;
    } low += 5;
                return 2;),
    COMPLL_BODY(
        if (x > 0) {
          low = 3;
          return 1;
        } else {
          low = 4;
          return 2;
        }),
    COMPLL_BODY(
        if (x > 0) {
          low = 3;
          return low;
        } else if (x < -2) { low += 4; } else return low;
        return low + 1;),
    COMPLL_BODY(if (x > 0) return 1; if (x < -1) { low = 5; } return low;),
    COMPLL_BODY(if (x > 0) {
      if (x > 2) {
        low = 1;
        return 9;
      }
      low += 2;
    } low += 10;
                return low;),
    COMPLL_BODY(if (x < low) return low; low += 1; if (x < low) return low; low += 1; return 50;),
};
#undef COMPLL_BODY

/// Returns the result of `f(x)`, and `low` after it.
std::pair<float, float> given_by(const std::string& body, float x) {
  const std::string text = "float low;\nfloat f(float x) { " + body +
                           " }\nvoid encode(float* g, uint8* compressed) {\n"
                           "low = 7; float given = f(g[0]);\n"
                           "compressed = concat(map(range(g.size), [&](int i) -> float { return i == 0 ? given : low; "
                           "}));\n}\n" +
                           kDecode;
  const std::vector<float> both = round_trip(*from_text("given", text).codec, std::vector<float>{x, 0});
  return {both[0], both[1]};
}

std::string said_of_function(const std::string& body) {
  return first_said("state float* kept;\nfloat f(float* x, float top) {\n" + body + "\n}\n" +
                    in_encode("float given = f(g, g[0]);"));
}

}  // namespace

TEST_CASE("returns: what a function assigns is what was assigned on the way to its `return`") {
  for (const Assigning& body : kBodies) {
    for (const float x : {-3.0f, -1.5f, -1.0f, 0.0f, 1.0f, 3.0f, 7.5f, 20.0f}) {
      INFO(body.text << ", x = " << x);
      float low = 7;
      const float given = body.meaning(x, low);
      CHECK(given_by(body.text, x) == std::pair(given, low));
    }
  }
}

TEST_CASE("returns: a function on one side of `?` changes no variable outside of it, as both sides are computed") {
  const auto said_of = [](const std::string& text) {
    return first_said(
        "float low;\n"
        "float f(float x) { low = x; return x; }\n"
        "float own(float x) { float y = x; lambda_func more = [&]() -> float { y += 1; return y; } return more(); }\n" +
        in_encode(text));
  };
  const std::string refused = "2:26: a function on one side of `?` changes `low` outside of it";
  CHECK(said_of("float y = g[0] > 0 ? f(1) : 2;") == refused);
  CHECK(said_of("float y = g[0] > 0 ? 1 : 1 + f(2);") == refused);
  CHECK(said_of("float y = g[0] > 0 ? (g[1] > 0 ? 1 : 2) + f(2) : 3;") == refused);
  CHECK(said_of("float y = f(1) > 0 ? 1 : 2;\nfloat z = f(2);") == "OK");
  CHECK(said_of("float y = g[0] > 0 ? own(1) : own(2);") == "OK");
  CHECK(said_of("float y = 0;\nif (g[0] > 0) y = f(1); else y = 2;") == "OK");
}

TEST_CASE("returns: an array that is another one at each `return` is refused") {
  CHECK(said_of_function("if (top == 0) return 0;\nkept = x;\nreturn 1;") ==
        "5:8: `kept` is another array after a `return` in a branch");
  CHECK(said_of_function("if (top == 0) { kept = x; return 0; }\nreturn 1;") ==
        "4:8: `kept` is another array after a `return` in a branch");
  CHECK(said_of_function("if (top == 0) { kept = x; return 0; } else return 1;") ==
        "3:1: `kept` is another array in each branch");
  CHECK(said_of_function("kept = x;\nif (top == 0) return 0;\nreturn 1;") == "OK");
}

}  // namespace casync::compll
