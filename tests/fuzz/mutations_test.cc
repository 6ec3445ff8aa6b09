// SPDX-License-Identifier: Apache-2.0
//
// A search of seconds, with any compiler, for what tools/fuzz seeks in hours: texts near to real programs, the same in
// every run.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <vector>

#include "tests/compll/language/page.h"
#include "tests/fuzz/mutate.h"
#include "tests/fuzz/run_program.h"

namespace casync::compll {
namespace {

/// The programs of a folder, in the order of their names.
std::map<std::string, std::string> programs_in(const std::string& folder) {
  std::map<std::string, std::string> texts;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".cll") continue;
    std::ifstream file(entry.path(), std::ios::binary);
    REQUIRE(file);
    texts[entry.path().filename()] = {std::istreambuf_iterator<char>(file), {}};
  }
  return texts;
}

std::vector<std::string> corpus() {
  std::vector<std::string> texts;
  for (const char* folder : {CASYNC_CODECS, CASYNC_GOLDEN_DIR, CASYNC_FOUND, CASYNC_SEEDS}) {
    for (const auto& [name, text] : programs_in(folder)) texts.push_back(text);
  }
  for (const Example& example : examples_of_page()) {
    texts.push_back(example.kind.empty() ? example.text : codec_around(example));
  }
  return texts;
}

}  // namespace

TEST_CASE("mutations: any text is compiled, and run if it compiles, and nothing breaks") {
  constexpr std::size_t kTexts = 4000;
  const std::vector<std::string> texts = corpus();
  REQUIRE(texts.size() > 10);
  std::mt19937 random(1);
  std::size_t ran = 0;
  for (std::size_t i = 0; i < kTexts; ++i) {
    const std::string text = mutated(texts[i % texts.size()], texts[random() % texts.size()], random);
    ran += run_program(text) ? 1 : 0;
  }
  // Both ways are gone often: texts that are refused, and programs that run.
  CHECK(ran > kTexts / 20);
  CHECK(ran < kTexts / 2);
}

TEST_CASE("mutations: texts that broke the compiler or the interpreter once do not again") {
  const auto found = programs_in(CASYNC_FOUND);
  REQUIRE(!found.empty());
  for (const auto& [name, text] : found) {
    INFO(name);
    CHECK_NOTHROW(run_program(text));
  }
}

TEST_CASE("mutations: the seeds are programs that run") {
  const auto seeds = programs_in(CASYNC_SEEDS);
  REQUIRE(!seeds.empty());
  for (const auto& [name, text] : seeds) {
    INFO(name);
    CHECK(run_program(text));
  }
}

TEST_CASE("mutations: an expression of many operands is no deeper than the stack") {
  std::string sum = "1";
  for (int i = 0; i < 200000; ++i) sum += "+1";
  Example example;
  example.text = "float x = " + sum + ";\n";
  CHECK_NOTHROW(run_program(codec_around(example)));
}

TEST_CASE("mutations: a run that ends in a mistake can be had again") {
  std::mt19937 a(5), b(5);
  for (int i = 0; i < 100; ++i) CHECK(mutated("float x = 1;", "int y;", a) == mutated("float x = 1;", "int y;", b));
}

}  // namespace casync::compll
