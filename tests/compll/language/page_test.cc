// SPDX-License-Identifier: Apache-2.0
//
// The examples of docs/language.md are what they are said to be.
#include <algorithm>
#include <catch2/catch.hpp>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iterator>
#include <memory>
#include <sstream>

#include "compll/interpreter/interpreter.h"
#include "compll/interpreter/program_codec.h"
#include "compll/interpreter/rounds_program.h"
#include "compll/lang/front_end.h"
#include "compll/lang/operators.h"
#include "tests/compll/language/page.h"
#include "tests/compll/support/inputs.h"
#include "tests/compll/support/round_ranks.h"
#include "tests/compll/support/run_codec.h"

namespace casync::compll {
namespace {

const std::vector<float> kGradient = {1, -2, 3, -4, 5};

/// `float x = 1;  // 1`: a variable and what it then holds.
struct Claim {
  std::string declaration;  ///< `float x`
  std::string values;       ///< "1", or "1 2 3" of an array
};

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

std::vector<Claim> claims_of(const std::string& text) {
  std::vector<Claim> claims;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find(" = "), comment = line.find("// ");
    if (line.front() == ' ' || line.front() == '(' || equals == line.npos || comment == line.npos) continue;
    const std::string declaration = line.substr(0, equals);
    if (declaration.find(' ') == declaration.npos || !is_name(declaration.back())) continue;
    claims.push_back({declaration, line.substr(comment + 3)});
  }
  return claims;
}

std::string text_of_value(Scalar value, ScalarType type) {
  if (type == kBoolType) return value.as_bool() ? "true" : "false";
  char text[40];
  const double number = value.as_number(type);
  const auto end = type == kFloatType ? std::to_chars(text, text + sizeof text, static_cast<float>(number)).ptr
                                      : std::to_chars(text, text + sizeof text, number).ptr;
  return {text, end};
}

std::string text_of_values(const Values& values, ScalarType type) {
  std::string text;
  for (const Scalar value : values) text += (text.empty() ? "" : " ") + text_of_value(value, type);
  return text;
}

Result<Program> compiled(const std::string& text) {
  const Source source("example.cll", text);
  return compile(source);
}

std::vector<double> initial_values(const Program& program) {
  std::vector<double> values;
  for (const ProgramParameter& parameter : program.parameters) values.push_back(parameter.initial);
  return values;
}

/// Runs the example as a codec that sends these values, and compares them with the comments.
void check_some(const Example& example, std::span<const Claim> claims) {
  std::vector<std::string> sent;
  for (const Claim& claim : claims) sent.push_back(claim.declaration);
  const Result<Program> program = compiled(codec_around(example, sent));
  REQUIRE(program.status().text() == "OK");
  States no_states;
  const std::vector<Values> sections = Interpreter(*program, initial_values(*program)).encode(kGradient, {}, no_states);
  REQUIRE(sections.size() == claims.size() + 1);
  for (std::size_t i = 0; i < claims.size(); ++i) {
    INFO(claims[i].declaration);
    CHECK(text_of_values(sections[i + 1], program->sections[i + 1].type.element) == claims[i].values);
  }
}

/// Checks the claims of an example, as many at a time as a payload has sections, and returns their number.
std::size_t check_claims(const Example& example) {
  constexpr std::size_t kAtOnce = 15;  // next to the gradient
  const std::vector<Claim> claims = claims_of(example.text);
  for (std::size_t first = 0; first < claims.size(); first += kAtOnce) {
    check_some(example, std::span(claims).subspan(first, std::min(kAtOnce, claims.size() - first)));
  }
  return claims.size();
}

/// A codec that exchanges: all ranks have the same in the end, and after some steps most of what they began with.
void check_rounds(std::shared_ptr<const Program> program) {
  const auto codec = make_rounds_program(std::move(program));
  REQUIRE(codec.status().text() == "OK");
  for (const auto& [rows, columns] : {std::pair<Elements, Elements>{1, 1}, {5, 8}, {0, 3}, {40, 3}}) {
    INFO(rows << " x " << columns);
    const Elements n = rows * columns;
    const std::vector<float> x = gaussian(n, 5), y = gaussian(n, 6);
    RoundRanks ranks(**codec, 2, rows, columns);
    std::vector<float> sum(n), wanted(n);
    for (std::uint32_t step = 0; step < 20; ++step) {
      const std::vector<float> given = ranks.mean({x, y}, step);
      for (Elements i = 0; i < n; ++i) sum[i] += given[i], wanted[i] += (x[i] + y[i]) / 2;
    }
    if (n != 0) CHECK(relative_error(wanted, sum) < 0.1);
  }
}

/// A codec that sends what it gets: encoded twice it gives the same bytes, which it accepts, and its error on finite
/// gradients is what its class promises.
void check_codec(const Example& example) {
  Result<Program> program = compiled(example.text);
  REQUIRE(program.status().text() == "OK");
  if (program->synchronize) return check_rounds(std::make_shared<const Program>(std::move(*program)));
  const bool contractive = program->declares.contractive;
  const auto codec = make_program_codec(std::make_shared<const Program>(std::move(*program)));
  REQUIRE(codec.status().text() == "OK");
  for (const Elements n : {1, 40, 129}) {
    for (const Input& input : inputs(n)) {
      INFO(n << " elements, " << input.name);
      const Coded coded = encode(**codec, input.values);
      CHECK(coded.payload == encode(**codec, input.values).payload);
      REQUIRE((*codec)->check(coded.view(), n).text() == "OK");
      CHECK(decode(**codec, coded, n).size() == n);
    }
    const std::vector<float> x = gaussian(n, 5);
    if (contractive) CHECK(relative_error(x, round_trip(**codec, x)) < 0.5);
  }
}

}  // namespace

TEST_CASE("language page: its codecs compile, run and keep what their class promises") {
  std::size_t codecs = 0;
  for (const Example& example : examples_of_page()) {
    if (!example.kind.empty()) continue;
    INFO("docs/language.md:" << example.line);
    check_codec(example);
    ++codecs;
  }
  CHECK(codecs >= 3);
}

TEST_CASE("language page: its table of operators and functions has every word that a program calls") {
  std::ifstream file(CASYNC_LANGUAGE_PAGE, std::ios::binary);
  std::string page{std::istreambuf_iterator<char>(file), {}};
  page.erase(0, page.find("\n## Operators and functions\n"));
  page.resize(page.find("\n## ", 1));
  CHECK(called_words().size() >= 30);
  for (const std::string_view word : called_words()) {
    INFO(word);
    const std::string name(word);
    const bool is_there = page.find("`" + name + "`") != page.npos || page.find("`" + name + "(") != page.npos ||
                          page.find(" " + name + "(") != page.npos;
    CHECK(is_there);
  }
}

TEST_CASE("language page: variables hold what the comments behind them say") {
  std::size_t claims = 0;
  for (const Example& example : examples_of_page()) {
    if (example.kind != "encode") continue;
    INFO("docs/language.md:" << example.line);
    claims += check_claims(example);
  }
  CHECK(claims >= 40);
}

TEST_CASE("language page: refused examples are refused with the messages shown") {
  std::size_t refused = 0;
  for (const Example& example : examples_of_page()) {
    if (example.kind != "refused") continue;
    INFO("docs/language.md:" << example.line);
    CHECK(compiled(codec_around(example)).status().message() == example.said);
    ++refused;
  }
  CHECK(refused >= 3);
}

TEST_CASE("language page: a comment that is wrong is noticed") {
  const std::vector<Claim> claims = claims_of("float x = 1;  // 2\nx = 3;  // no claim\nuint1* y = f;  // 0 1\n");
  REQUIRE(claims.size() == 2);
  CHECK(claims[0].declaration == "float x");
  CHECK(claims[0].values == "2");
  CHECK(claims[1].declaration == "uint1* y");
  CHECK(text_of_value(Scalar::of_float(1), kFloatType) != claims[0].values);
}

}  // namespace casync::compll
