// SPDX-License-Identifier: Apache-2.0
//
// Plans of launches in vector form: what each pass adds, how work lies in stages, and what a plan refuses.
#include <catch2/catch.hpp>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "compll/codegen/cuda/launches.h"
#include "compll/codegen/ir_text.h"
#include "compll/ir/tiles/cuda/plan.h"
#include "compll/ir/vector/cuda/plan_text.h"
#include "compll/lang/front_end.h"
#include "tests/compll/program/plan_stages.h"
#include "tests/compll/program/program_texts.h"
#include "tests/compll/support/programs.h"
#include "tests/support/golden.h"

namespace casync::compll {
namespace {

struct Compiled {
  explicit Compiled(const std::string& name) : Compiled(name, source_of(name)) {}
  Compiled(const std::string& name, const std::string& text) : source(name + ".cll", text), program(compile(source)) {
    REQUIRE(program.status().text() == "OK");
  }
  Source source;
  Result<Program> program;
};

cuda_vector::Plan planned(const Compiled& compiled) {
  Result<cuda_vector::Plan> plan = cuda_vector::plan_vector(*compiled.program, compiled.source);
  REQUIRE(plan.status().text() == "OK");
  return std::move(*plan);
}

/// The text of a launch, pass by pass; all of them together give its plan.
std::string passes_of(cuda_vector::Routine again, const cuda_vector::Routine& routine) {
  const std::string text = routine.name + "\n" + stages_of(again, cuda_vector::passes());
  CHECK(text_of(again) == text_of(routine));
  return text;
}

void check_launches(const std::string& name) {
  const Compiled compiled(name);
  const cuda_vector::Plan plan = planned(compiled);
  std::string text;
  for (const cuda_vector::Routine* routine : routines_of(plan)) {
    text += passes_of(cuda_vector::routine_of(*compiled.program, routine->name), *routine);
  }
  CHECK(casync::test::golden(name + "_vector_cuda_plan.txt", text) == text);
}

/// Checks that no stage is without work, and that each task is in its stage: in pieces only if it can be.
void check_stages(const cuda_vector::Routine& routine) {
  std::size_t works = 0;
  for (const cuda_vector::Stage& stage : routine.stages) {
    works += stage.by_pieces.size() + stage.at_once.size() + stage.at_end.size();
    CHECK(stage.by_pieces.size() + stage.at_once.size() > 0);
    CHECK(stage.by_pieces.size() != 1);
    CHECK((stage.piece == 0) == stage.by_pieces.empty());
  }
  CHECK(works == routine.tasks.size());
  for (const cuda_vector::Task& task : routine.tasks) {
    CHECK(task.stage < routine.stages.size());
    CHECK_FALSE((task.at_end && task.piece != 0));
  }
}

/// Checks that parts of the workspace have names of their own, and that every array in memory there has a part.
void check_memory(const cuda_vector::Routine& routine) {
  std::set<std::string> words;
  for (const cuda_vector::Space& space : routine.workspace) {
    CHECK(words.insert(space.word).second);
    CHECK(space.bytes > 0);
  }
  for (const cuda_vector::Value& value : routine.values) {
    CHECK(value.ready.own <= value.ready.all);
    const auto* memory = std::get_if<cuda_vector::Memory>(&value.definition);
    if (memory == nullptr || memory->at.base != cuda_vector::Address::Base::kWorkspace) continue;
    REQUIRE(memory->at.space.has_value());
    CHECK(*memory->at.space < routine.workspace.size());
  }
}

}  // namespace

TEST_CASE("golden: the launches of topk, whose search takes the input") { check_launches("topk"); }

TEST_CASE("golden: the launches of dgc, which changes states where they lie") { check_launches("dgc"); }

TEST_CASE("golden: the launches of drive, which rotates and sums in order") { check_launches("drive"); }

TEST_CASE("golden: the launches of terngrad, some of whose reductions not all parameters need") {
  check_launches("terngrad");
}

TEST_CASE("golden: the launches of subsampling, whose result comes from memory") { check_launches("subsampling"); }

TEST_CASE("golden: the turns of powersgd, whose first product stores its matrix") {
  const Compiled compiled("powersgd");
  const Result<cuda_vector::Turns> plan = cuda_vector::plan_turns(*compiled.program, compiled.source);
  REQUIRE(plan.status().text() == "OK");
  std::string text;
  for (std::size_t turn = 0; turn < plan->turns.size(); ++turn) {
    text += passes_of(cuda_vector::turn_of(*compiled.program, plan->rounds, turn), plan->turns[turn]);
  }
  CHECK(casync::test::golden("powersgd_cuda_turns_plan.txt", text) == text);
}

TEST_CASE("plan: every program has launches in vector form, whose work lies in stages and whose memory has names") {
  std::size_t planned = 0;
  for (const std::string& name : written_names()) {
    INFO(name);
    const Compiled compiled(name);
    const Result<cuda_vector::Plan> plan = cuda_vector::plan_vector(*compiled.program, compiled.source);
    REQUIRE(plan.status().text() == "OK");
    for (const cuda_vector::Routine* routine : routines_of(*plan)) {
      INFO(routine->name);
      check_stages(*routine);
      check_memory(*routine);
    }
    const Result<Lowered> lowered = lower(*compiled.program, compiled.source);
    if (lowered && plan_cuda_tiles(*compiled.program, *lowered, compiled.source)) continue;
    const std::string text = plans_text(*compiled.program, compiled.source), own = text_of(*plan);
    REQUIRE(text.size() > own.size());
    CHECK(text.substr(text.size() - own.size()) == own);
    const std::string stages = std::to_string(plan->encode.stages.size());
    const std::string launches = cuda_launches(*compiled.program, compiled.source);
    CHECK(launches.starts_with("on a GPU: encode 1 launch" + (stages == "1" ? "," : " of " + stages + " stages,")));
    ++planned;
  }
  CHECK(planned >= 10);
}

TEST_CASE("plan: turns of every program that exchanges have work in stages, and memory with names") {
  for (const std::string& name : written_round_names()) {
    INFO(name);
    const Compiled compiled(name);
    const Result<cuda_vector::Turns> plan = cuda_vector::plan_turns(*compiled.program, compiled.source);
    REQUIRE(plan.status().text() == "OK");
    CHECK(plan->turns.size() == compiled.program->rounds + 1);
    for (const cuda_vector::Routine& turn : plan->turns) {
      INFO(turn.name);
      check_stages(turn);
      check_memory(turn);
    }
    CHECK(plans_text(*compiled.program, compiled.source).ends_with("on a GPU\n" + text_of(*plan)));
  }
}

TEST_CASE("plan: searches of one stage for as many elements are done by one loop") {
  const Compiled compiled("x",
                          "void encode(float* g, uint8* c) {\n"
                          "  uint* up = largest(g, 9, [&](float x) -> float { return x; });\n"
                          "  uint* down = largest(g, 9, [&](float x) -> float { return -x; });\n"
                          "  float* more = map(up, down, [&](uint a, uint b) -> float { return g[a] - g[b]; });\n"
                          "  c = concat(up, down, more);\n"
                          "}\n"
                          "void decode(uint8* c, float* g) { uint* p; uint* q; float* v; extract(c, p, q, v);\n"
                          "g = scatter(p, v, g.size); }\n");
  const cuda_vector::Plan plan = planned(compiled);
  REQUIRE(plan.encode.searches.size() == 2);
  REQUIRE(plan.encode.stages.size() == 5);
  const auto& counts = std::get<cuda_vector::CountDigit>(plan.encode.stages[1].at_once.front());
  CHECK(counts.searches == std::vector<cuda_vector::SearchId>{0, 1});
  CHECK(plan.encode.stages[1].at_once.size() == 1);
  // One of them takes the input ahead of the other.
  const auto& list = std::get<cuda_vector::ListLargest>(plan.encode.stages[0].at_once.front());
  CHECK(list.takes_input);
  CHECK_FALSE(std::get<cuda_vector::ListLargest>(plan.encode.stages[0].at_once[1]).takes_input);
}

TEST_CASE("plan: a step ahead of the product that stores its vectors computes their elements itself") {
  const Compiled compiled("x",
                          "codec x { shape rows columns; }\n"
                          "state float right[2 * columns];\n"
                          "void synchronize(float* g, float* result) {\n"
                          "  float* q = map(right, [&](float x) -> float { return x + 1; });\n"
                          "  float top = reduce(q, max);\n"
                          "  float* left = exchange(matmul(g, q));\n"
                          "  right = map(right, [&](float x) -> float { return x * top; });\n"
                          "  result = matmul(left, right);\n"
                          "}\n");
  const Result<cuda_vector::Turns> plan = cuda_vector::plan_turns(*compiled.program, compiled.source);
  REQUIRE(plan.status().text() == "OK");
  const cuda_vector::Routine& turn = plan->turns.front();
  // The reduction and the store lie in one stage, and tiles do not wait for each other within it.
  const auto& reduction = std::get<cuda_vector::ReduceJoined>(turn.stages[0].at_once[0]);
  const auto& store = std::get<cuda_vector::Fill>(turn.stages[0].at_once[1]);
  CHECK(reduction.from == store.from);
  CHECK(turn.values[reduction.from].is_computed());
}

TEST_CASE("plan: elements for blocks are read by shares one stage after their tiles store them") {
  const Compiled compiled("x",
                          "void encode(float* g, uint8* c) {\n"
                          "  float* top = block_reduce(g, 16, magnitude);\n"
                          "  uint* large = where(top, top.size, [&](float x) -> bool { return x > 1; });\n"
                          "  float* even = hadamard(top, 8);\n"
                          "  float* moved = scatter(map(top, [&](float x) -> uint { return x; }), top, top);\n"
                          "  c = concat(large, even, moved);\n"
                          "}\n"
                          "void decode(uint8* c, float* g) { uint* p; float* v; float* m; extract(c, p, v, m);\n"
                          "g = spread(m, 16); }\n");
  const cuda_vector::Plan plan = planned(compiled);
  const std::string text = text_of(plan.encode);
  for (const char* line :
       {"  top_1 = memory at top_1, from stage 0, others' elements from 1\n",
        "  large_5 = memory at large_5, from stage 2\n", "  even_6 = memory at even_6, from stage 2\n",
        "  moved_10 = memory at moved_10, from stage 3\n",
        "  stage 1\n    write places where map_t0 into large_5\n    rotate blocks of top_1 into even_6\n"}) {
    INFO(text << line);
    CHECK(text.find(line) != text.npos);
  }
}

TEST_CASE("plan: an array is not changed where it lies if a state is made of elements that are picked from it") {
  const auto changed_by = [](const std::string& sent) {
    const Compiled compiled("x",
                            "state float* left;\nstate float* sent;\n"
                            "void encode(float* g, uint8* c) {\n"
                            "  float* all = map(left, g, [&](float l, float x) -> float { return l + x; });\n"
                            "  uint* place = where(all, all.size, [&](float x) -> bool { return x > 1; });\n"
                            "  float* value = gather(all, place);\n"
                            "  sent = " +
                                sent +
                                ";\n"
                                "  left = scatter(place, 0, all);\n"
                                "  c = concat(place);\n"
                                "}\n"
                                "void decode(uint8* c, float* g) { uint* p; extract(c, p);\n"
                                "g = scatter(p, 1.0, g.size); }\n");
    const cuda_vector::Plan plan = planned(compiled);
    return plan.encode.changed.size();
  };
  CHECK(changed_by("map(sent, g, [&](float s, float x) -> float { return s + x; })") == 1);
  CHECK(changed_by("value") == 0);
  CHECK(changed_by("map(sent, value, [&](float s, float x) -> float { return s + x; })") == 0);
}

TEST_CASE("plan: an array that is changed where it lies may have several names") {
  const Compiled compiled("x",
                          "state float* left;\n"
                          "void encode(float* g, uint8* c) {\n"
                          "  float* all = map(left, g, [&](float l, float x) -> float { return l + x; });\n"
                          "  uint* place = largest(all, 10, absolute);\n"
                          "  float* rest = scatter(place, 0, all);\n"
                          "  float* then = rest;\n"
                          "  left = then;\n"
                          "  c = concat(place);\n"
                          "}\n"
                          "void decode(uint8* c, float* g) { uint* p; extract(c, p);\n"
                          "g = scatter(p, 1.0, g.size); }\n");
  const cuda_vector::Plan plan = planned(compiled);
  CHECK(plan.encode.changed.size() == 1);
  CHECK(text_of(plan.encode).find("keep `left`") == std::string::npos);
}

TEST_CASE("plan: each plan of launches refuses programs of the other") {
  const Compiled exchanges("powersgd"), vector("topk");
  CHECK(cuda_vector::plan_vector(*exchanges.program, exchanges.source).status().message() ==
        "powersgd.cll: `synchronize` is compiled by turns");
  CHECK(cuda_vector::plan_turns(*vector.program, vector.source).status().message() == "topk.cll: exchanges nothing");
}

TEST_CASE("plan: functions to reduce by see nothing of a launch: no parameters, and no sizes of a matrix") {
  const auto reason = [](const Status& status) { return status.message().substr(0, status.message().find('\n')); };
  const Compiled scaled("x",
                        "codec x {}\nparam { float p = 0.5 in 0..1; }\n"
                        "void encode(float* g, uint8* c) {\n"
                        "float* y = block_reduce(g, 48, 0, [&](float a, float b) -> float { return a + b * p; });\n"
                        "c = concat(y);\n}\n"
                        "void decode(uint8* c, float* g) { float* y; extract(c, y); g = spread(y, 48); }\n");
  CHECK(reason(cuda_vector::plan_vector(*scaled.program, scaled.source).status()) ==
        "x.cll:4:83: error: a function that sees this cannot be compiled for CUDA, only interpreted");
  const Compiled counted("y",
                         "codec y { shape rows columns; }\nvoid synchronize(float* g, float* r) {\n"
                         "float y = reduce(exchange(g), 0, [&](float a, float b) -> float { return a + rows; });\n"
                         "r = map(g, [&](float x) -> float { return y; });\n}\n");
  CHECK(reason(cuda_vector::plan_turns(*counted.program, counted.source).status()) ==
        "y.cll:3:78: error: a function that sees this cannot be compiled for CUDA, only interpreted");
}

}  // namespace casync::compll
