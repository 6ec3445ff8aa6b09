// SPDX-License-Identifier: Apache-2.0
//
// Plans of turns on a CPU: what each pass adds, that memory is there ahead of its use, and what a plan refuses.
#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <variant>

#include "compll/codegen/ir_text.h"
#include "compll/ir/rounds/cpu/plan_text.h"
#include "compll/lang/front_end.h"
#include "compll/lang/terms.h"
#include "tests/compll/program/plan_stages.h"
#include "tests/compll/support/programs.h"
#include "tests/support/golden.h"

namespace casync::compll {
namespace {

struct Compiled {
  Compiled(const std::string& name, const std::string& text) : source(name + ".cll", text), program(compile(source)) {
    REQUIRE(program.status().text() == "OK");
  }
  Source source;
  Result<Program> program;
};

cpu_turns::Plan plan_of(const Compiled& compiled) {
  Result<cpu_turns::Plan> plan = cpu_turns::plan_turns(*compiled.program, compiled.source);
  REQUIRE(plan.status().text() == "OK");
  return std::move(*plan);
}

/// A program with two states, whose `synchronize` has these lines.
Compiled with_states(const std::string& lines) {
  return {"x",
          "codec x { shape rows columns; }\nstate float* error;\nstate float right[2 * columns];\n"
          "void synchronize(float* g, float* result) {\n" +
              lines + "\n}\n"};
}

/// The number of items of a kind.
template <class Kind>
std::size_t count_of(const cpu_turns::Turn& turn) {
  std::size_t count = 0;
  for (const cpu_turns::Item& item : turn.items) count += std::holds_alternative<Kind>(item);
  return count;
}

/// Checks that items refer to memory that items above them have.
void check_memory(const cpu_turns::Turn& turn) {
  std::set<cpu_turns::Id> known;
  const auto is_there = [&](const cpu_turns::Address& address) {
    const auto* id = std::get_if<cpu_turns::Id>(&address);
    return id == nullptr || known.count(*id) != 0;
  };
  for (const cpu_turns::Item& item : turn.items) {
    if (const auto* given = std::get_if<cpu_turns::Given>(&item)) known.insert(given->array);
    if (const auto* memory = std::get_if<cpu_turns::Memory>(&item)) CHECK(known.insert(memory->array).second);
    if (const auto* buffer = std::get_if<cpu_turns::Buffer>(&item)) CHECK(known.insert(buffer->value).second);
    if (const auto* tiles = std::get_if<cpu_turns::Tiles>(&item)) CHECK(known.insert(tiles->value).second);
    if (const auto* stored = std::get_if<cpu_turns::Stored>(&item)) {
      CHECK(known.count(stored->buffer.value_or(stored->array)) != 0);
    }
    if (const auto* fill = std::get_if<cpu_turns::Fill>(&item)) CHECK(is_there(fill->to));
    if (const auto* copy = std::get_if<cpu_turns::Copy>(&item)) CHECK((known.count(copy->from) && is_there(copy->to)));
    if (const auto* zeros = std::get_if<cpu_turns::Zeros>(&item)) CHECK(known.count(zeros->array) != 0);
    if (const auto* call = std::get_if<cpu_turns::Apply>(&item)) {
      for (const cpu_turns::Argument& argument : call->arguments) {
        if (const auto* memory = std::get_if<cpu_turns::MemoryOf>(&argument)) CHECK(known.count(memory->array) != 0);
      }
    }
    if (const auto* scatter = std::get_if<cpu_turns::Scatter>(&item)) CHECK(known.count(scatter->array) != 0);
    if (const auto* piece = std::get_if<cpu_turns::Piece>(&item)) CHECK(known.count(piece->to) != 0);
    if (const auto* outer = std::get_if<cpu_turns::Outer>(&item)) {
      CHECK((known.count(outer->left) != 0 && known.count(outer->right) != 0));
    }
    if (const auto* product = std::get_if<cpu_turns::Product>(&item)) {
      CHECK((known.count(product->array) != 0 && known.count(product->right) != 0));
      CHECK((product->by_pieces || known.count(product->left) != 0));
    }
  }
}

void check_turns(const std::string& name, const std::string& source) {
  const Compiled compiled(name, source);
  const cpu_turns::Plan plan = plan_of(compiled);
  std::string text;
  for (const cpu_turns::Turn& turn : plan.turns) {
    cpu_turns::Turn again = cpu_turns::turn_of(*compiled.program, plan.rounds, turn.number);
    text += "turn " + std::to_string(turn.number) + "\n" + stages_of(again, cpu_turns::passes());
    CHECK(text_of(again) == text_of(turn));
  }
  CHECK(casync::test::golden(name + "_cpu_turns_plan.txt", text) == text);
}

}  // namespace

TEST_CASE("golden: the turns of powersgd on a CPU, whose first product stores its matrix") {
  check_turns("powersgd", source_of("powersgd"));
}

TEST_CASE("golden: the turns of terngrad_shared on a CPU, which keep whole numbers") {
  check_turns("terngrad_shared", source_of("terngrad_shared"));
}

TEST_CASE("golden: the turns of sketched_topk on a CPU, which pick elements and move them") {
  check_turns("sketched_topk", source_of("sketched_topk"));
}

TEST_CASE("plan: turns of every program that exchanges have memory ahead of its use, and are printed") {
  for (const std::string& name : written_round_names()) {
    INFO(name);
    const Compiled compiled(name, source_of(name));
    const cpu_turns::Plan plan = plan_of(compiled);
    CHECK(plan.turns.size() == compiled.program->rounds + 1);
    for (const cpu_turns::Turn& turn : plan.turns) check_memory(turn);
    CHECK(plans_text(*compiled.program, compiled.source).starts_with("on a CPU\n" + text_of(plan) + "on a GPU\n"));
  }
}

TEST_CASE("plan: the product that reads a matrix first stores it, and any other use has it in memory ahead") {
  const auto turn_of = [](const std::string& between) {
    const Compiled compiled = with_states(
        "float* m = map(g, error, [&](float x, float e) -> float { return x + e; });\n" + between +
        "float* left = exchange(matmul(m, right));\nright = exchange(matmul(m, left));\nerror = m;\nresult = m;");
    cpu_turns::Turn turn = plan_of(compiled).turns.front();
    check_memory(turn);
    return std::pair(count_of<cpu_turns::Buffer>(turn), turn.loops.size());
  };
  CHECK(turn_of("") == std::pair<std::size_t, std::size_t>(1, 1));
  CHECK(turn_of("float top = reduce(m, max);\n"
                "right = map(right, [&](float x) -> float { return x * top; });\n") ==
        std::pair<std::size_t, std::size_t>(0, 3));
}

TEST_CASE("plan: searched arrays are in memory, and scattered ones are made where they are wanted") {
  const Compiled compiled = with_states(
      "uint* at = largest(map(g, error, [&](float x, float e) -> float { return x + e; }), 3);\n"
      "float* some = exchange(gather(g, at));\nright = right;\nerror = scatter(at, some, g.size);\nresult = error;");
  const cpu_turns::Plan plan = plan_of(compiled);
  for (const cpu_turns::Turn& turn : plan.turns) check_memory(turn);
  CHECK(count_of<cpu_turns::Apply>(plan.turns[0]) == 1);  // it finds the largest
  CHECK(count_of<cpu_turns::Fill>(plan.turns[0]) == 2);   // the sum that is searched, and the elements to exchange
  CHECK(count_of<cpu_turns::Zeros>(plan.turns[1]) == 1);
  CHECK(count_of<cpu_turns::Scatter>(plan.turns[1]) == 1);
  CHECK(count_of<cpu_turns::Fill>(plan.turns[1]) == 0);
}

TEST_CASE("plan: a function to reduce by reads elements of an array that is stored under another name") {
  const Compiled compiled = with_states(
      "float* m = map(g, error, [&](float x, float e) -> float { return x + e; });\n"
      "float y = reduce(m, 0, [&](float a, float b) -> float { return a + b * m[3]; });\n"
      "float* z = exchange(map(m, [&](float x) -> float { return x * y; }));\nright = right;\nerror = z;\nresult = z;");
  const cpu_turns::Turn turn = plan_of(compiled).turns.front();
  const auto stored = [&](const Term& term) {
    const auto found = turn.of_term.find(&term);
    return found != turn.of_term.end() && name_of(turn.values[found->second]).starts_with("kept_t");
  };
  bool any = false;
  for_each_term(*compiled.program->synchronize, [&](const Term& term) {
    if (term.op != Op::kElement) return;
    any = true;
    CHECK(stored(*term.arguments.front()));
  });
  CHECK(any);
}

TEST_CASE("plan: a result that is made while the gradient is read has memory of its own") {
  const Compiled reads = with_states(
      "float* y = exchange(g);\nright = right;\nerror = error;\n"
      "result = map(g, y, [&](float a, float b) -> float { return a + b; });");
  const Compiled no_reads = with_states(
      "float* y = exchange(g);\nright = right;\nerror = error;\n"
      "result = map(y, [&](float b) -> float { return b; });");
  CHECK(count_of<cpu_turns::MakeResult>(plan_of(reads).turns.back()) == 1);
  CHECK(count_of<cpu_turns::MakeResult>(plan_of(no_reads).turns.back()) == 0);
}

TEST_CASE("plan: operators that turns on a CPU lack are refused with their place") {
  const Compiled sorts = with_states("float* y = sort(g);\nright = right;\nerror = error;\nresult = exchange(y);");
  const Result<cpu_turns::Plan> plan = cpu_turns::plan_turns(*sorts.program, sorts.source);
  CHECK(plan.status().code() == StatusCode::kUnimplemented);
  CHECK_THAT(plan.status().message(),
             Catch::StartsWith(
                 "x.cll:5:12: error: `sort` in `synchronize` cannot be compiled for the CPU, only interpreted\n"));
}

TEST_CASE("plan: turns refuse a program that exchanges nothing") {
  const Compiled vector("topk", source_of("topk"));
  CHECK(cpu_turns::plan_turns(*vector.program, vector.source).status().message() == "topk.cll: exchanges nothing");
}

}  // namespace casync::compll
