// SPDX-License-Identifier: Apache-2.0
//
// What each stage makes of a program, as text that is reviewed like code. A stage that changes changes these.
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>

#include "compll/lang/check/checker.h"
#include "compll/lang/syntax/lexer.h"
#include "compll/lang/syntax/parser.h"
#include "tests/support/golden.h"

namespace casync::compll {
namespace {

struct Stages {
  std::string tokens, tree, typed;
};

Stages stages_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  REQUIRE(file);
  const Source source(path, {std::istreambuf_iterator<char>(file), {}});
  Diagnostics diagnostics(source);
  const Tokens tokens = read_tokens(diagnostics);
  const Tree tree = parse(tokens, diagnostics);
  const std::optional<Program> program = check(tree, {}, diagnostics);
  REQUIRE(diagnostics.status().text() == "OK");
  REQUIRE(program.has_value());
  return {text_of(source, tokens), text_of(tree), text_of(*program)};
}

Stages stages_of_codec(const std::string& name) { return stages_of(std::string(CASYNC_CODECS) + "/" + name + ".cll"); }

Stages stages_of_golden(const std::string& name) {
  return stages_of(std::string(CASYNC_GOLDEN_DIR) + "/" + name + ".cll");
}

void check_same(const std::string& name, const std::string& actual) { CHECK(test::golden(name, actual) == actual); }

void check_trees(const std::string& name, const Stages& stages) {
  check_same(name + "_tree.txt", stages.tree);
  check_same(name + "_typed.txt", stages.typed);
}

}  // namespace

TEST_CASE("golden: the tokens of int8") { check_same("int8_tokens.txt", stages_of_codec("int8").tokens); }

TEST_CASE("golden: the trees of int8, a map over blocks") { check_trees("int8", stages_of_codec("int8")); }

TEST_CASE("golden: the trees of onebit, whose map has several results") {
  check_trees("onebit", stages_of_codec("onebit"));
}

TEST_CASE("golden: branches are choices, and a repeat is written out") {
  check_trees("branches", stages_of_golden("branches"));
}

TEST_CASE("golden: several results each have a variable, and each random number its place") {
  check_trees("several", stages_of_golden("several"));
}

TEST_CASE("golden: the trees of powersgd, which exchanges twice") {
  check_trees("powersgd", stages_of_codec("powersgd"));
}

TEST_CASE("golden: a program in published style") { check_trees("published", stages_of_golden("published")); }

}  // namespace casync::compll
