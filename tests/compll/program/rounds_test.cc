// SPDX-License-Identifier: Apache-2.0
//
// Programs that exchange in rounds: what is refused, and what the operators on matrices mean.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "compll/interpreter/matrix.h"
#include "tests/compll/program/said.h"
#include "tests/compll/support/inputs.h"
#include "tests/compll/support/programs.h"
#include "tests/compll/support/round_ranks.h"

namespace casync::compll {
namespace {

const std::string kShape =
    "codec a { shape rows columns; } param { uint rank = 2 in 1..8; } state float q[rank * columns];";

/// `text` as lines 2 and on of synchronize, which exchanges and gives the gradient.
std::string in_synchronize(const std::string& text) {
  return kShape + "void synchronize(float* g, float* result) {\n" + text + "\nresult = exchange(g);\n}\n";
}

/// Returns one rank's gradient after a step of a program with these statements.
std::vector<float> given(const std::string& text, const std::vector<float>& gradient, Elements rows, Elements columns) {
  const auto codec =
      rounds_from_text("given", kShape + "void synchronize(float* g, float* result) {\n" + text + "\n}\n");
  RoundRanks ranks(*codec, 1, rows, columns);
  return ranks.mean({gradient}, 0);
}

double dot(std::span<const float> a, std::span<const float> b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

}  // namespace

TEST_CASE("rounds: declarations that do not hold are refused") {
  const std::string whole = "void synchronize(float* g, float* result) { result = exchange(g); }";
  const std::string encode =
      "void encode(float* g, uint8* c) { c = concat(g); }\n"
      "void decode(uint8* c, float* g) { float* y; extract(c, y); g = y; }";
  const std::pair<std::string, const char*> all[] = {
      {whole, "OK"},
      {"codec a { shape rows; }" + whole, "1:11: `shape` names two things"},
      {"codec a { shape; }" + whole, "1:11: `shape` names two things"},
      {"codec a { shape r r; }" + whole, "1:19: `r` is declared twice"},
      {"codec a { number 3 4; }" + whole, "1:20: expected `;` behind `number`, found `4`"},
      {"codec a { number 3 x; }" + whole, "1:20: `number` has two values"},
      {"codec a { shape rows columns; }" + encode,
       "1:11: `shape` in a codec with `encode`, which may be given a part of a gradient"},
      {"codec a { feedback; }" + whole, "1:11: `feedback` in a codec with `synchronize`"},
      {encode + "\n" + whole, "1:1: `encode` in a codec with `synchronize`"},
      {whole + "\nvoid result(float* g, float* r) { r = g; }", "2:1: `result` in a codec with `synchronize`"},
      {whole + "\n" + whole, "2:1: a second function that is synchronize by its parameters"},
      {"state float* e = 1;" + whole, "1:18: a state of `synchronize` begins with zeros"},
      {"state float e;" + whole, "1:7: a state of type float"},
      {"state float* e[3];" + whole, "1:7: a state of type float*"},
      {"state uint e[3];" + whole, "1:7: a state of type uint"},
      {"state float e[3 " + whole, "1:17: expected `]` behind the size of a state, found `void`"},
      {"state float e[1.5];" + whole, "1:15: a size that is no integer"},
      {"state float e[nothing];" + whole, "1:15: there is no `nothing`"},
      {"void synchronize(float* g, float* result, uint more) { result = exchange(g); }",
       "1:48: the parameter `more` has no value"},
      {"param { uint more = 1; } void synchronize(float* g, float* result, uint more) { result = exchange(g); }", "OK"},
      {"void synchronize(float* g, float* result) { result = g; }", "1:1: `synchronize` exchanges nothing"},
      {"void synchronize(float* g, float* result) { float* x = exchange(g); }",
       "1:1: `synchronize` never assigns `result`"},
      {"void synchronize(float* g, float* result) { result = matmul(exchange(g), g); }",
       "1:54: `matmul` needs to know how many rows and columns the gradient has"},
      {encode.substr(0, 34) + "float* s = exchange(g); " + encode.substr(34),
       "1:46: `exchange` belongs into `synchronize`"},
  };
  for (const auto& [source, said] : all) CHECK(first_said(source) == said);
}

TEST_CASE("rounds: statements that mean nothing are refused") {
  const Refused all[] = {
      {"if (g[0] > 0) { g = exchange(g); }", "2:21: `exchange` in a branch"},
      {"float* x = map(g, [&](float v) -> float { return exchange(g)[0]; });",
       "2:50: `exchange` in a function that is applied to elements"},
      {"repeat (8) { g = exchange(g); }", "3:10: more than 8 exchanges"},
      {"float* x = exchange(1);", "2:21: `exchange` needs an array, this is one element"},
      {"float* x = exchange(range(3));", "2:21: `exchange` of ints"},
      {"float* x = exchange(g, g);", "2:24: an exchange of this kind is not there"},
      {"float* x = exchange(g, min);", "2:24: an exchange of this kind is not there"},
      {"float* x = exchange(g, max(g, g));", "2:24: an exchange of this kind is not there"},
      {"float* x = exchange(g, max, elias);", "2:12: `exchange` with 3 arguments"},
      {"float* x = exchange(range(3), max);", "2:21: `exchange` of ints"},
      {"float* x = exchange(range(3), elias);", "2:21: `exchange` of ints"},
      {"if (g[0] > 0) { g = exchange(g, max); }", "2:21: `exchange` in a branch"},
      {"repeat (8) { g = exchange(g, max); }", "3:10: more than 8 exchanges"},
      {"float* x = exchange(g, max); float* y = exchange(x, elias);", "OK"},
      {"float* x = matmul(g, g);", "OK"},
      {"float* x = matmul(q, q);", "2:12: `matmul` of `rank * columns` and `rank * columns` elements"},
      {"float* x = matmul(q, matmul(g, q));", "2:12: `matmul` of `rank * columns` and `rank * rows` elements"},
      {"float* x = matmul(map(range(3 * rows), [&](int i) -> float { return i; }), q);",
       "2:12: `matmul` of `3 * rows` and `rank * columns` elements"},
      {"float* x = matmul(g, gather(g, range(rank * 3)));", "2:12: `matmul` of n and `rank * 3` elements"},
      {"float* x = matmul(g, range(2 * rows));", "2:22: `matmul` of ints"},
      {"float* x = matmul(g);", "2:12: `matmul` with 1 arguments"},
      {"float* x = orthonormalize(g);", "2:27: `orthonormalize` of n elements"},
      {"float* x = orthonormalize(gather(g, range(7)));", "2:27: `orthonormalize` of 7 elements"},
      {"float* x = block_reduce(q, rows, sum);", "2:25: `rank * columns` elements are no vectors of `rows`"},
      {"float* x = spread(g, rows);", "2:19: `spread` of n elements to vectors of `rows`"},
      {"float* x = hadamard(g, rows);", "2:24: the size of a block of `hadamard` is a power of two"},
      {"uint<rows> x = 1;", "2:6: the width of a type has to be a constant, `rows` is not"},
      {"repeat (rows) { }", "2:9: the count of `repeat` has to be a constant, `rows` is not"},
      {"rows = 3;", "2:1: `rows` is no variable, and cannot be assigned to"},
      {"q = g;", "1:96: the state `q` has `rank * columns` elements, here it becomes n"},
      {"g = exchange(g); compressed = concat(g);", "2:18: there is no variable `compressed`"},
  };
  for (const Refused& each : all) CHECK(first_said(in_synchronize(each.source)) == each.said);
}

TEST_CASE("rounds: an exchange in a repeat and in a function is one each time it is reached") {
  const std::string text =
      "float* twice(float* x) { return exchange(exchange(x)); }\n"
      "void synchronize(float* g, float* result) {\n"
      "float* x = g;\nrepeat (3) { x = exchange(x); }\nresult = twice(x);\n}";
  const auto codec = rounds_from_text("several", text);
  CHECK(codec->info().rounds == 5);
  CHECK(codec->shape(3, 4).exchanged == std::vector<Elements>(5, 12));
  RoundRanks ranks(*codec, 2, 1, 2);
  CHECK(ranks.step({{1, 2}, {3, 4}}, 0, 1).front() == std::vector<float>{4 * 16, 6 * 16});
}

TEST_CASE("rounds: exchanges of several kinds, in the order of the program") {
  const auto codec = rounds_from_text("kinds",
                                      "void synchronize(float* g, float* result) {\n"
                                      "float* tops = exchange(g, max);\n"
                                      "float* whole = map(tops, [&](float x) -> float { return floor(x); });\n"
                                      "repeat (2) { whole = exchange(whole, elias); }\n"
                                      "result = exchange(whole);\n}");
  using Kind = ExchangeKind;
  CHECK(codec->info().exchanges == std::vector<Kind>{Kind::kMax, Kind::kElias, Kind::kElias, Kind::kSum});
  CHECK_FALSE(codec->info().of_matrices);
  CHECK(codec->info().bits_per_element == Approx(64 + 2 * bits_of(Kind::kElias)));
  CHECK(bits_of(Kind::kElias) == Approx(2.5).margin(0.3));
  RoundRanks ranks(*codec, 2, 1, 3);
  CHECK(ranks.step({{1, -2, 0.5}, {3.25, -1, -7}}, 0, 1).front() == std::vector<float>{8 * 3, 8 * -1, 0});
  CHECK(rounds_from_text("matrix", in_synchronize(""))->info().of_matrices);
}

TEST_CASE("rounds: products of a matrix, and of vectors") {
  const std::vector<float> m = {1, 2, 3, 4, 5, 6};  // 2 x 3
  const std::string vectors = "float* x = map(range(rank * columns), [&](int i) -> float { return i; });\n";
  // Each row times 0 1 2 and 3 4 5: vectors of rows, 8 17 and 26 62.
  const std::string left = vectors + "float* y = exchange(matmul(g, x));\n";
  CHECK(given(left + "result = scatter(range(rank * rows), y, g.size);", m, 2, 3) ==
        std::vector<float>{8, 17, 26, 62, 0, 0});
  // Each column times those.
  CHECK(given(left + "result = scatter(range(rank * columns), matmul(g, y), g.size);", m, 2, 3) ==
        std::vector<float>{8 + 4 * 17, 2 * 8 + 5 * 17, 3 * 8 + 6 * 17, 26 + 4 * 62, 2 * 26 + 5 * 62, 3 * 26 + 6 * 62});
  CHECK(given(left + "result = matmul(y, x);", m, 2, 3) ==
        std::vector<float>{26 * 3, 8 + 26 * 4, 8 * 2 + 26 * 5, 62 * 3, 17 + 62 * 4, 17 * 2 + 62 * 5});
  CHECK(given("float* means = map(block_reduce(exchange(g), columns, sum), [&](double s) -> float { return s / "
              "columns; });\n"
              "result = spread(means, columns);",
              m, 2, 3) == std::vector<float>{2, 2, 2, 5, 5, 5});
}

TEST_CASE("rounds: vectors that there is no room for are zeros") {
  // A size above n counts as n: of four vectors of one row there are two.
  const std::string text =
      "codec a { shape rows columns; } void synchronize(float* g, float* result) {\n"
      "float* x = map(range(4 * rows), [&](int i) -> float { return i + 1; });\n"
      "float* y = exchange(matmul(g, x));\n"
      "result = matmul(x, y);\n}";
  const auto codec = rounds_from_text("many", text);
  CHECK(codec->shape(1, 2).exchanged == std::vector<Elements>{2});
  RoundRanks ranks(*codec, 1, 1, 2);
  CHECK(ranks.mean({{10, 20}}, 0) == std::vector<float>{10, 20});
}

TEST_CASE("rounds: orthonormal vectors are that to the last bit or so") {
  for (const std::size_t length : {1, 2, 15, 16, 17, 100}) {
    for (const float size : {1.0f, 1e-38f, 1e38f}) {
      const std::size_t count = std::min<std::size_t>(length, 7);
      std::vector<float> vectors = gaussian(count * length, 3);
      for (float& each : vectors) each *= size / 8;
      orthonormalize(vectors, length);
      for (std::size_t a = 0; a < count; ++a) {
        for (std::size_t b = 0; b <= a; ++b) {
          INFO("length " << length << ", size " << size << ", vectors " << a << " and " << b);
          const std::span<const float> all(vectors);
          CHECK(std::abs(dot(all.subspan(a * length, length), all.subspan(b * length, length)) - (a == b ? 1 : 0)) <
                3e-7);
        }
      }
    }
  }
}

TEST_CASE("rounds: vectors that depend on others, and zeros, become zero") {
  const float tiny = std::numeric_limits<float>::denorm_min();
  std::vector<float> vectors = {3, 4, 0, 6, 8, 0, 0, 0, 0, 1, 1, 0, tiny, 0, 0, 0, 0, 2};
  orthonormalize(vectors, 3);
  const std::vector<float> expected = {0.6f, 0.8f, 0, 0, 0, 0, 0, 0, 0, 0.8f, -0.6f, 0, 0, 0, 0, 0, 0, 1};
  for (std::size_t i = 0; i < vectors.size(); ++i) CHECK(vectors[i] == Approx(expected[i]).margin(1e-6));
  for (const std::size_t zero : {3, 4, 5, 6, 7, 8, 12, 13, 14}) CHECK(vectors[zero] == 0);
  std::vector<float> nearly = gaussian(50, 1);
  nearly.insert(nearly.end(), nearly.begin(), nearly.end());
  nearly[70] *= 1 + 1e-6f;
  orthonormalize(nearly, 50);
  CHECK(std::all_of(nearly.begin() + 50, nearly.end(), [](float x) { return x == 0; }));
}

TEST_CASE("rounds: elements that are not finite stay so") {
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> vectors = {1, 0, infinity, 0, 0, 1};
  orthonormalize(vectors, 2);
  CHECK(vectors[0] == 1);
  CHECK(std::all_of(vectors.begin() + 2, vectors.end(), [](float x) { return std::isnan(x); }));
}

TEST_CASE("rounds: by itself such a codec is none") {
  CHECK_THROWS_WITH(from_source("powersgd"), Catch::Contains("codec `powersgd` exchanges in rounds within a step"));
  CHECK_THROWS_WITH(rounds_from_source("int8"), Catch::Contains("codec `int8` does not exchange in rounds"));
  CHECK_THROWS_WITH(rounds_from_source("powersgd", {{"rank", 65}}), Catch::Contains("`rank` cannot be 65"));
}

}  // namespace casync::compll
