// SPDX-License-Identifier: Apache-2.0
//
// Plans in vector form on a CPU: what each pass adds, how loops lie in them, and what a plan refuses.
#include <catch2/catch.hpp>
#include <cstddef>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "compll/codegen/ir_text.h"
#include "compll/ir/tiles/lower.h"
#include "compll/ir/vector/cpu/plan_text.h"
#include "compll/lang/front_end.h"
#include "tests/compll/program/plan_stages.h"
#include "tests/compll/program/program_texts.h"
#include "tests/compll/support/programs.h"
#include "tests/support/golden.h"

namespace casync::compll {
namespace {

void check_plan(const std::string& name) {
  const Source source(name + ".cll", source_of(name));
  const Result<Program> program = compile(source);
  REQUIRE(program.status().text() == "OK");
  const Result<cpu_vector::Plan> plan = cpu_vector::plan_vector(*program, source);
  REQUIRE(plan.status().text() == "OK");
  std::string text;
  for (const cpu_vector::Routine* routine : routines_of(*plan)) {
    cpu_vector::Routine again = cpu_vector::routine_of(*program, routine->name);
    text += routine->name + "\n" + stages_of(again, cpu_vector::passes());
    CHECK(text_of(again) == text_of(*routine));
  }
  CHECK(casync::test::golden(name + "_vector_cpu_plan.txt", text) == text);
}

/// Checks that the loops have numbers in their order, work in each phase of theirs, and tiles if they have blocks.
void check_loops(const cpu_vector::Routine& routine) {
  int number = 0;
  for (const cpu_vector::Item& item : routine.items) {
    const auto* loop = std::get_if<cpu_vector::ElementLoop>(&item);
    if (loop == nullptr) continue;
    CHECK(loop->number == ++number);
    CHECK(!loop->works.empty());
    CHECK(loop->fetches_in < loop->phases);
    for (const cpu_vector::Work& work : loop->works) {
      CHECK(work.phase < loop->phases);
      if (std::holds_alternative<cpu_vector::BlockWork>(work.what)) CHECK(!loop->blocks.empty());
    }
  }
}

}  // namespace

TEST_CASE("golden: the plan of topk, which selects in the loop that reads the gradient") { check_plan("topk"); }

TEST_CASE("golden: the plan of dgc, whose scatters begin in the memory of states") { check_plan("dgc"); }

TEST_CASE("golden: the plan of adacomp, which waits for blocks") { check_plan("adacomp"); }

TEST_CASE("golden: the plan of sketch, which adds at places and takes medians") { check_plan("sketch"); }

TEST_CASE("golden: the plan of drive, whose tiles rotate blocks") { check_plan("drive"); }

TEST_CASE("plan: every program in vector form has one, whose loops lie in order") {
  std::size_t planned = 0;
  for (const std::string& name : written_names()) {
    INFO(name);
    const Source source(name + ".cll", source_of(name));
    const Result<Program> program = compile(source);
    REQUIRE(program.status().text() == "OK");
    const Result<cpu_vector::Plan> plan = cpu_vector::plan_vector(*program, source);
    REQUIRE(plan.status().text() == "OK");
    for (const cpu_vector::Routine* routine : routines_of(*plan)) check_loops(*routine);
    if (lower(*program, source)) continue;
    CHECK(plans_text(*program, source).starts_with("on a CPU\n" + text_of(*plan)));
    ++planned;
  }
  CHECK(planned >= 10);
}

TEST_CASE("plan: a map that is picked from more than once is in memory, and one that is long is called") {
  const auto plan_of = [](const std::string& picked, const std::string& added) {
    const std::string text =
        "void encode(float* g, uint8* c) {\n"
        "float* twice = map(g, [&](float x) -> float { return x + x; });\n"
        "c = concat(map(range(g.size), [&](int i) -> float { return " +
        picked + added +
        "; }));\n}\n"
        "void decode(uint8* c, float* g) { float* y; extract(c, y); g = y; }";
    const Source source("picks.cll", text);
    const Result<Program> program = compile(source);
    REQUIRE(program.status().text() == "OK");
    const Result<cpu_vector::Plan> plan = cpu_vector::plan_vector(*program, source);
    REQUIRE(plan.status().text() == "OK");
    return text_of(plan->encode);
  };
  const std::string once = plan_of("twice[i - 1]", ""), again = plan_of("twice[i - 1] + twice[i + 1]", "");
  CHECK(once.find(": where it is used\n") != once.npos);
  CHECK(once.find(": once, into memory\n") == once.npos);
  CHECK(again.find(": once, into memory\n") != again.npos);
  CHECK(again.find(", called\n") == again.npos);
  std::string many;
  for (int i = 0; i < 40; ++i) many += " + i % " + std::to_string(i + 2);
  const std::string longer = plan_of("twice[i - 1]", many);
  CHECK(longer.find(", called\n") != longer.npos);
}

TEST_CASE("plan: an operator that needs all blocks' values follows the loop that makes them") {
  const std::pair<std::string, std::string> all[] = {
      {"float y = reduce(block_reduce(g, 16, max), max);", "float y;"},
      {"float y = reduce(block_reduce(g, 16, max), 0, [&](float a, float b) -> float { return a - b; });", "float y;"},
      {"float* y = hadamard(block_reduce(g, 16, max), 4);", "float* y;"},
      {"float* top = block_reduce(g, 16, max);\nfloat* y = hadamard(top, 4);", "float* y;"}};
  for (const auto& [made, received] : all) {
    INFO(made);
    const Source source("blocks.cll", "void encode(float* g, uint8* c) {\n" + made +
                                          "\nc = concat(y);\n}\nvoid decode(uint8* c, float* g) {\n" + received +
                                          "\nextract(c, y);\ng = map(range(g.size), [&](int i) -> float { return i; "
                                          "});\n}\n");
    const Result<Program> program = compile(source);
    REQUIRE(program.status().text() == "OK");
    const Result<cpu_vector::Plan> plan = cpu_vector::plan_vector(*program, source);
    REQUIRE(plan.status().text() == "OK");
    const std::vector<cpu_vector::Item>& items = plan->encode.items;
    std::size_t loop = items.size(), call = items.size();
    for (std::size_t i = 0; i < items.size(); ++i) {
      const auto* of_blocks = std::get_if<cpu_vector::ElementLoop>(&items[i]);
      if (of_blocks != nullptr && !of_blocks->blocks.empty()) loop = i;
      const auto* each = std::get_if<cpu_vector::Call>(&items[i]);
      if (each == nullptr) continue;
      if (std::holds_alternative<cpu_vector::Reduce>(*each) || std::holds_alternative<cpu_vector::Rotate>(*each))
        call = i;
    }
    REQUIRE(call < items.size());
    CHECK(loop < call);
  }
}

TEST_CASE(
    "plan: a block reduction's function and its initial value read elements once the loop that takes them is over") {
  for (const std::string reduction : {"block_reduce(g, 16, 0, [&](float a, float b) -> float { return a + b * g[3]; })",
                                      "block_reduce(g, 16, g[3], [&](float a, float b) -> float { return a - b; })"}) {
    INFO(reduction);
    const Source source("elements.cll",
                        "void encode(float* g, uint8* c) {\nfloat* y = " + reduction +
                            ";\nc = concat(y);\n}\nvoid decode(uint8* c, float* g) { float* y; extract(c, y); "
                            "g = spread(y, 16); }");
    const Result<Program> program = compile(source);
    REQUIRE(program.status().text() == "OK");
    const Result<cpu_vector::Plan> plan = cpu_vector::plan_vector(*program, source);
    REQUIRE(plan.status().text() == "OK");
    const std::string text = text_of(plan->encode);
    INFO(text);
    CHECK(text.find("  loop 1\n    take g_0, checked\n") != text.npos);
    CHECK(text.find("  loop 2, by tiles of blocks of 16\n") != text.npos);
  }
}

TEST_CASE("plan: places that are sent as they are found are stored in a loop after the search") {
  const Source source("places.cll",
                      "void encode(float* g, uint8* c) {\n"
                      "uint* place = largest(g, g.size, absolute);\n"
                      "c = concat(place);\n}\n"
                      "void decode(uint8* c, float* g) { uint* p; extract(c, p); g = scatter(p, 1.0, g.size); }");
  const Result<Program> program = compile(source);
  REQUIRE(program.status().text() == "OK");
  const Result<cpu_vector::Plan> plan = cpu_vector::plan_vector(*program, source);
  REQUIRE(plan.status().text() == "OK");
  const std::string text = text_of(plan->encode);
  const std::size_t found = text.find("  place_4 = the result of "), sent = text.find("send place = place_4");
  REQUIRE(sent != text.npos);
  CHECK(found < sent);
}

TEST_CASE("plan: the copy that a scatter changes is read only by values that are computed ahead of the scatter") {
  const auto copies_read = [](const std::string& count, const std::string& scattered) {
    const Source source("copies.cll",
                        "void encode(float* g, uint8* c) {\n"
                        "float* all = map(g, [&](float x) -> float { return x + 1; });\n"
                        "uint* place = where(all, " +
                            count +
                            ", [&](float x) -> bool { return x > 1; });\n"
                            "float* value = map(place, [&](uint i) -> float { return all[i]; });\n"
                            "float first = all[0] + 1;\n"
                            "float* rest = scatter(place, " +
                            scattered +
                            ", all);\n"
                            "c = concat(value, rest);\n}\n"
                            "void decode(uint8* c, float* g) { float* v, r; extract(c, v, r); g = r; }");
    const Result<Program> program = compile(source);
    REQUIRE(program.status().text() == "OK");
    const Result<cpu_vector::Plan> plan = cpu_vector::plan_vector(*program, source);
    REQUIRE(plan.status().text() == "OK");
    REQUIRE(plan->encode.copied_by.size() == 1);
    return plan->encode.reads_copy.size();
  };
  CHECK(copies_read("all.size / 2", "0") == 1);
  CHECK(copies_read("all.size", "0") == 0);  // the map is computed where it is used
  CHECK(copies_read("all.size", "first") == 1);
  CHECK(copies_read("all.size", "all[0] + 1") == 0);  // computed again for each place
}

TEST_CASE("plan: places with one number draw from one stream, in one map and in several") {
  const Source source("draws.cll",
                      "void encode(float* g, uint8* c) {\n"
                      "uint* a = map(sort(g), [&](float x) -> uint { return random<uint>(1) ^ random<uint>(1); });\n"
                      "uint* b = map(a, [&](uint x) -> uint { return x + random<uint>(1) + random<uint>(2); });\n"
                      "c = concat(map(b, [&](uint x) -> float { return x; }));\n}\n"
                      "void decode(uint8* c, float* g) { float* y; extract(c, y); g = y; }");
  const Result<Program> program = compile(source);
  REQUIRE(program.status().text() == "OK");
  const Result<cpu_vector::Plan> plan = cpu_vector::plan_vector(*program, source);
  REQUIRE(plan.status().text() == "OK");
  std::size_t streams = 0;
  for (const cpu_vector::Item& item : plan->encode.items) {
    const auto* definition = std::get_if<cpu_vector::Definition>(&item);
    const auto* map = definition == nullptr ? nullptr : std::get_if<cpu_vector::Map>(definition);
    if (map != nullptr) streams += map->draws.size();
  }
  CHECK(streams == 2);
}

TEST_CASE("plan: sections for blocks of two sizes are refused by name of the file") {
  const Source source("x.cll", kTwoBlockSizes);
  const Result<Program> program = compile(source);
  REQUIRE(program.status().text() == "OK");
  const Result<cpu_vector::Plan> plan = cpu_vector::plan_vector(*program, source);
  CHECK(plan.status().code() == StatusCode::kUnimplemented);
  CHECK(plan.status().message() == "x.cll: sections for blocks of two sizes cannot be compiled, only interpreted");
}

}  // namespace casync::compll
