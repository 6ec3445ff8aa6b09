// SPDX-License-Identifier: Apache-2.0
//
// Plans of loops over tiles on a CPU and of kernels by tiles: what each pass adds, and what a plan refuses.
#include <catch2/catch.hpp>
#include <string>

#include "compll/codegen/ir_text.h"
#include "compll/ir/tiles/cpu/plan_text.h"
#include "compll/ir/tiles/cuda/plan_text.h"
#include "compll/lang/front_end.h"
#include "tests/compll/program/plan_stages.h"
#include "tests/compll/support/programs.h"
#include "tests/support/golden.h"

namespace casync::compll {
namespace {

/// A program that can be taken apart into tiles.
struct Tiles {
  Tiles(const std::string& name, const std::string& text) : source(name + ".cll", text), program(compile(source)) {
    REQUIRE(program.status().text() == "OK");
    lowered = lower(*program, source);
    REQUIRE(lowered.status().text() == "OK");
  }

  const Source source;
  const Result<Program> program;
  Result<Lowered> lowered = unimplemented("not lowered");
};

/// The lines that each pass adds to the plan of encode.
template <class Encoder, class Passes>
std::string tile_stages_of(const Tiles& tiles, const Passes& passes) {
  Encoder plan;
  plan.program = &*tiles.program;
  plan.encode = &tiles.lowered->encode;
  plan.block = tiles.lowered->block;
  return stages_of(plan, passes);
}

void check_cpu(const std::string& name) {
  const std::string text = tile_stages_of<CpuEncoder>(Tiles(name, source_of(name)), cpu_encoder_passes());
  CHECK(casync::test::golden(name + "_cpu_plan.txt", text) == text);
}

void check_cuda(const std::string& name) {
  const std::string text = tile_stages_of<CudaEncoder>(Tiles(name, source_of(name)), cuda_encoder_passes());
  CHECK(casync::test::golden(name + "_cuda_plan.txt", text) == text);
}

std::string refusal(const std::string& text) {
  const Tiles tiles("x", text);
  const Result<CpuTiles> plan = plan_cpu_tiles(*tiles.program, *tiles.lowered, tiles.source);
  REQUIRE_FALSE(plan.is_ok());
  CHECK(plan.status().code() == StatusCode::kUnimplemented);
  return plan.status().message().substr(0, plan.status().message().find('\n'));
}

const std::string kDecodeTiles =
    "void decode(uint8* c, float* g) { float* y; float* s; extract(c, y, s);\n"
    "g = map(y, [&](float x) -> float { return x; }); }\n";

}  // namespace

TEST_CASE("golden: the plans of int4, whose blocks have scales and packed codes") {
  check_cpu("int4");
  check_cuda("int4");
}

TEST_CASE("golden: the CPU plan of terngrad, which needs some reductions only for some parameters") {
  check_cpu("terngrad");
}

TEST_CASE("golden: the GPU plan of signsgd, whose statistics take a launch") { check_cuda("signsgd"); }

TEST_CASE("golden: the plans of diana, which keeps states") {
  check_cpu("diana");
  check_cuda("diana");
}

TEST_CASE("golden: the plans of rht4, which rotates blocks") {
  check_cpu("rht4");
  check_cuda("rht4");
}

TEST_CASE("plan: a CPU plan of every program by tiles names its passes, and each pass has loops") {
  std::size_t planned = 0;
  for (const std::string& name : written_names()) {
    INFO(name);
    const Source source(name + ".cll", source_of(name));
    const Result<Program> program = compile(source);
    REQUIRE(program.status().text() == "OK");
    const Result<Lowered> lowered = lower(*program, source);
    const std::string text = plans_text(*program, source);
    CHECK(text.starts_with("on a CPU\n"));
    if (!lowered) continue;
    const Result<CpuTiles> plan = plan_cpu_tiles(*program, *lowered, source);
    if (!plan) continue;
    ++planned;
    CHECK(text.starts_with("on a CPU\nencode, passes: " + std::to_string(plan->encoder.passes.size()) + "\n"));
    for (const CpuPass& pass : plan->encoder.passes) CHECK_FALSE(pass.loops.empty());
    CHECK(plan->encoder.passes.front().check != CpuCheck::kNone);
    CHECK_FALSE(plan->encoder.passes.front().waits);
  }
  CHECK(planned >= 20);
}

TEST_CASE("plan: a refusal names the place") {
  CHECK(refusal("void encode(float* g, uint8* c) {\n"
                "  float* s = block_reduce(g, 24, max);\n"
                "  c = concat(g, s);\n"
                "}\n" +
                kDecodeTiles) == "x.cll: blocks that are no power of two from 16 on");
  CHECK(refusal("void encode(float* g, uint8* c) {\n"
                "  float* s = block_reduce(g, 16, max);\n"
                "  float top = reduce(s, max);\n"
                "  c = concat(g, top);\n"
                "}\n"
                "void decode(uint8* c, float* g) { float* y; float top; extract(c, y, top);\n"
                "g = map(y, [&](float x) -> float { return x; }); }\n") ==
        "x.cll:3:15: error: a reduction of blocks cannot be compiled for the CPU by tiles");
}

}  // namespace casync::compll
