// SPDX-License-Identifier: Apache-2.0
//
// Passes of a codec's functions over memory: the answer of --explain for each codec of compll/codecs.
#include <catch2/catch.hpp>
#include <map>
#include <sstream>

#include "compll/codegen/explain.h"
#include "compll/ir/form.h"
#include "compll/ir/tiles/cpu/plan.h"
#include "compll/lang/front_end.h"
#include "tests/compll/support/programs.h"

namespace casync::compll {
namespace {

struct Counts {
  int passes = 0;
  double bytes = 0, least = 0;
};

/// `decode: 1 pass, 4.53 bytes per element, the least is 4.53`, by the word before the colon.
std::map<std::string, Counts> counts_of(const std::string& name) {
  const Source source(name + ".cll", source_of(name));
  const Result<Program> program = compile(source);
  REQUIRE(program.status().text() == "OK");
  const Result<std::string> text = explanation(*program, source);
  REQUIRE(text.status().text() == "OK");
  std::map<std::string, Counts> counts;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t colon = line.find(": ");
    if (line.front() == ' ' || line.find(" pass") == line.npos) continue;
    Counts& each = counts[line.substr(0, colon)];
    REQUIRE(std::sscanf(line.c_str() + colon, ": %d pass%*[^0-9]%lf bytes per element, the least is %lf", &each.passes,
                        &each.bytes, &each.least) == 3);
  }
  return counts;
}

/// Returns true if the codes of a codec of tiles need a statistic of all elements.
bool waits_for_the_tensor(const std::string& name, const std::string& function) {
  return (name == "terngrad" || name == "nvfp4") && !function.starts_with("decode");
}

}  // namespace

TEST_CASE("explain: codecs of tiles go through memory once, states included, and move no byte more than they must") {
  int seen = 0;
  for (const std::string& name : written_names()) {
    const Source source(name + ".cll", source_of(name));
    const Result<Program> program = compile(source);
    REQUIRE(program.status().text() == "OK");
    if (form_of(*program, source, plan_cpu_tiles).kind != Form::Kind::kTiles) continue;
    const auto counts = counts_of(name);
    CHECK(counts.size() == (program->result ? 5 : 4));
    for (const auto& [function, each] : counts) {
      INFO(name << ", " << function);
      CHECK(each.passes == (waits_for_the_tensor(name, function) ? 2 : 1));
      CHECK(each.bytes == each.least);
    }
    ++seen;
  }
  CHECK(seen > 20);
}

TEST_CASE("explain: statistics of the tensor take a pass, selection one where it is not told a threshold") {
  const auto terngrad = counts_of("terngrad");
  CHECK(terngrad.at("encode").passes == 2);
  CHECK(terngrad.at("encode").bytes == Approx(8.25));
  CHECK(terngrad.at("encode").least == Approx(8.25));
  CHECK(terngrad.at("decode").passes == 1);
  for (const char* name : {"topk", "mstopk", "stc", "sbc", "threshold", "randomk", "topk_lloyd"}) {
    INFO(name);
    const auto counts = counts_of(name);
    CHECK(counts.at("encode with feedback").passes == 1);
    CHECK(counts.at("encode with feedback").bytes == Approx(12));
    CHECK(counts.at("decode").passes == 1);
  }
  CHECK(counts_of("graddrop").at("encode with feedback").passes == 2);
  CHECK(counts_of("graddrop").at("encode with feedback").bytes == Approx(16));
}

TEST_CASE("explain: states are read and written in the pass that encodes") {
  CHECK(counts_of("diana").at("encode").bytes == Approx(12.28));
  CHECK(counts_of("diana").at("result").bytes == Approx(16));
}

TEST_CASE("explain: a pass reads the arrays that its loops load, and no others") {
  const Source source("kept_steps.cll", test_program("kept_steps"));
  const Result<Program> program = compile(source);
  REQUIRE(program.status().text() == "OK");
  const Result<std::string> text = explanation(*program, source);
  REQUIRE(text.status().text() == "OK");
  // The statistic is of the vector, its residual and `before`, whose new values wait for nothing.
  CHECK(text->find("encode with feedback: 2 passes, 40.50 bytes per element, the least is 40.50\n"
                   "  reads 12.00, writes 4.00: `top` (line 9), `before`\n"
                   "  reads 16.00, writes 8.50: sections, residual, `steps`\n") != text->npos);
}

TEST_CASE("explain: a program that tiles cannot compute goes through memory as the vector form does") {
  const auto drive = counts_of("drive");
  CHECK(drive.at("encode with feedback").passes == 2);
  CHECK(drive.at("encode with feedback").bytes > drive.at("encode with feedback").least);
}

TEST_CASE("explain: kept arrays are read and written, and work that is done twice is counted twice") {
  const auto dgc = counts_of("dgc");
  CHECK(dgc.at("encode").least == Approx(4 + 2 * 8).epsilon(0.01));
  CHECK(dgc.at("encode").bytes > dgc.at("encode").least);
  CHECK(dgc.count("merge") == 1);
  CHECK(counts_of("ef21").count("result") == 1);
}

TEST_CASE("explain: a merge of single bits goes by words, unless there is a residual") {
  const auto merges_words = [](const std::string& text) {
    const Source source("signs.cll", text);
    const Result<Program> program = compile(source);
    REQUIRE(program.status().text() == "OK");
    const Result<std::string> explained = explanation(*program, source);
    REQUIRE(explained.status().text() == "OK");
    return explained->find(
               "merge of 4: 1 pass, 0.62 bytes per element, the least is 0.62\n"
               "  reads 0.50, writes 0.12: words of codes") != explained->npos;
  };
  const std::string signs = source_of("signsgd");
  CHECK(merges_words(signs));
  CHECK_FALSE(merges_words(changed(signs, "version 1;", "version 1;\n  feedback;")));
  CHECK_FALSE(merges_words(source_of("terngrad")));
}

TEST_CASE("explain: the number of launches on a GPU") {
  const auto ends_with = [](const std::string& name, const std::string& line) {
    const Source source(name + ".cll", source_of(name));
    const Result<Program> program = compile(source);
    REQUIRE(program.status().text() == "OK");
    const Result<std::string> text = explanation(*program, source);
    REQUIRE(text.status().text() == "OK");
    INFO(*text);
    CHECK(text->ends_with("\n" + line + "\n"));
  };
  ends_with("int4", "on a GPU: encode 1 launch, merge 1, decode 1");
  ends_with("signsgd", "on a GPU: encode 1 launch, merge 1, decode 1");
  ends_with("topk", "on a GPU: encode 1 launch of 5 stages, decode 1 of 2");
}

TEST_CASE("explain: a pass that a program adds is seen") {
  const std::string source_text =
      changed(source_of("int4"), "float* scale = map(block_reduce(gradient, block, magnitude), scale_of);",
              "float top = reduce(gradient, magnitude);\n"
              "  float* scale = map(block_reduce(gradient, block, magnitude), [&](float t) -> float { "
              "return scale_of(min(t, top)); });");
  const Source source("int4.cll", source_text);
  const Result<Program> program = compile(source);
  REQUIRE(program.status().text() == "OK");
  const Result<std::string> text = explanation(*program, source);
  REQUIRE(text.status().text() == "OK");
  CHECK(text->find("encode with feedback: 2 passes, 20.53 bytes per element, the least is 20.53") != text->npos);
}

}  // namespace casync::compll
