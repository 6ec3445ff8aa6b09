// SPDX-License-Identifier: Apache-2.0
//
// The text between the typed tree and code: graphs of programs by tiles, steps of those in vector form,
// turns of those that exchange.
#include <catch2/catch.hpp>
#include <string>

#include "compll/codegen/ir_text.h"
#include "compll/ir/tiles/lower.h"
#include "compll/lang/front_end.h"
#include "tests/compll/program/program_texts.h"
#include "tests/compll/support/programs.h"
#include "tests/support/golden.h"

namespace casync::compll {
namespace {

std::string ir_of(const std::string& name) {
  const Source source(name + ".cll", source_of(name));
  const Result<Program> program = compile(source);
  REQUIRE(program.status().text() == "OK");
  return ir_text(*program, source);
}

void check_same(const std::string& name) {
  const std::string actual = ir_of(name);
  CHECK(casync::test::golden(name + "_ir.txt", actual) == actual);
}

std::size_t count_of(const std::string& text, const std::string& line) {
  std::size_t count = 0;
  for (std::size_t at = text.find(line); at != text.npos; at = text.find(line, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("ir: every program of compll/codecs has a text of its form") {
  std::vector<std::string> names = written_names();
  for (const std::string& name : written_round_names()) names.push_back(name);
  names.push_back("patch");
  for (const std::string& name : names) {
    INFO(name);
    const Source source(name + ".cll", source_of(name));
    const Result<Program> program = compile(source);
    REQUIRE(program.status().text() == "OK");
    const std::string text = ir_of(name);
    if (program->synchronize) {
      CHECK(count_of(text, "\nturn ") == program->rounds + 1);
      CHECK(count_of(text, "\n  exchange ") == program->rounds);
    } else if (lower(*program, source)) {
      CHECK(text.starts_with("encode\n"));
      CHECK(count_of(text, " input") >= 1);
    } else {
      CHECK(text.starts_with("vector form, as line "));
      CHECK(count_of(text, "\n  send ") == program->sections.size() * (program->merge ? 2 : 1));
    }
  }
}

TEST_CASE("golden: the graphs of int8") { check_same("int8"); }

TEST_CASE("golden: the steps of topk, which selects") { check_same("topk"); }

TEST_CASE("golden: the steps of dgc, which keeps states and merges otherwise than it encodes") { check_same("dgc"); }

TEST_CASE("golden: the turns of powersgd, which exchanges twice") { check_same("powersgd"); }

TEST_CASE("ir: a program in vector form names the part that is in the way of tiles") {
  const Source source("x.cll", kTwoBlockSizes);
  const Result<Program> program = compile(source);
  REQUIRE(program.status().text() == "OK");
  const std::optional<Diagnostic> why = why_not_lowered(*program, source);
  REQUIRE(why.has_value());
  CHECK(why->message == "a second size of blocks, which cannot be taken apart into tiles");
  CHECK(source.position(why->at.begin).line == 3);
  CHECK(ir_text(*program, source)
            .starts_with("vector form, as line 3 has a second size of blocks, which cannot be taken apart into tiles\n"
                         "encode\n"));
}

}  // namespace casync::compll
