// SPDX-License-Identifier: Apache-2.0
//
// The form in which each target computes a program, and its reason.
#include <catch2/catch.hpp>

#include "compll/ir/form.h"
#include "compll/ir/tiles/cpu/plan.h"
#include "compll/ir/tiles/cuda/plan.h"
#include "compll/lang/front_end.h"
#include "tests/compll/program/program_texts.h"
#include "tests/compll/support/programs.h"

namespace casync::compll {
namespace {

struct Forms {
  Form common, cpu, cuda;
};

/// Checks that a plan by tiles is there exactly in that form.
template <class Tiles>
Form checked(const TargetForm<Tiles>& form) {
  CHECK((form.kind == Form::Kind::kTiles) == form.tiles.has_value());
  CHECK_FALSE(form.reason.empty());
  return form;
}

Forms forms_of(const std::string& name, const std::string& text) {
  const Source source(name + ".cll", text);
  const Result<Program> program = compile(source);
  REQUIRE(program.status().text() == "OK");
  const CommonForm common = form_of(*program, source);
  CHECK((common.kind == Form::Kind::kTiles) == (common.lowered != nullptr));
  return {common, checked(form_of(*program, source, plan_cpu_tiles)),
          checked(form_of(*program, source, plan_cuda_tiles))};
}
Forms forms_of(const std::string& name) { return forms_of(name, source_of(name)); }

}  // namespace

TEST_CASE("form: tiles, where each value depends on its element, its block or the tensor") {
  const Forms forms = forms_of("int4");
  CHECK(forms.cpu.kind == Form::Kind::kTiles);
  CHECK(forms.cuda.kind == Form::Kind::kTiles);
  CHECK(forms.cuda.reason == "each value depends on its element, its block or the tensor");
}

TEST_CASE("form: vector form for all targets, with the operator that needs them") {
  const Forms forms = forms_of("x", kTwoBlockSizes);
  for (const Form& form : {forms.common, forms.cpu, forms.cuda}) {
    CHECK(form.kind == Form::Kind::kVector);
    CHECK(form.reason == "line 3 has a second size of blocks, which cannot be taken apart into tiles");
  }
}

TEST_CASE("form: the line of a reason is that of its own file") {
  const Source source(std::vector<SourceFile>{
      {"encode.pse", "void encode(float* g, uint8* c) {\n  c = concat(g);\n}\n"},
      {"decode.pse", "void decode(uint8* c, float* g) {\n  float* y;\n  extract(c, y);\n  g = sort(y);\n}\n"}});
  const Result<Program> program = compile(source);
  REQUIRE(program.status().text() == "OK");
  CHECK(form_of(*program, source).reason == "line 4 of decode.pse has `sort`, which cannot be taken apart into tiles");
}

TEST_CASE("form: vector form for one target, with its reason") {
  const Forms forms = forms_of("terngrad");
  CHECK(forms.common.kind == Form::Kind::kTiles);
  CHECK(forms.cpu.kind == Form::Kind::kTiles);
  CHECK(forms.cuda.kind == Form::Kind::kVector);
  CHECK(forms.cuda.reason.find("cannot be compiled for CUDA") != std::string::npos);
}

TEST_CASE("form: a reduction by a function that compares doubles, or makes one of a condition, has the vector form") {
  const auto kind_of = [](const std::string& value) {
    return forms_of("x", in_encode("float v = reduce(g, 2, [&](float a, float b) -> float { return " + value +
                                   "; });\n"
                                   "g = map(g, [&](float x) -> float { return x + v; });"))
        .cpu.kind;
  };
  CHECK(kind_of("a + double(b) * 0.5") == Form::Kind::kTiles);
  CHECK(kind_of("b >= 1 ? double(b) : double(3)") == Form::Kind::kVector);
  CHECK(kind_of("double(1000 <= b)") == Form::Kind::kVector);
  CHECK(kind_of("max(a, double(b))") == Form::Kind::kVector);
}

TEST_CASE("form: vector form, where an element is picked by its own index in fewer bits") {
  const auto form_with = [](const std::string& index) {
    return forms_of("x", in_encode("g = map(range(g.size), [&](int i) -> float { return g[" + index + "] + 1; });"))
        .cpu;
  };
  for (const char* whole : {"i", "uint(i)", "int(uint(i))"}) CHECK(form_with(whole).kind == Form::Kind::kTiles);
  for (const char* narrow : {"uint8(i)", "int(uint16(i))", "int31(i)", "int(bool(i))", "float(i)", "uint(float(i))"}) {
    INFO(narrow);
    const Form form = form_with(narrow);
    CHECK(form.kind == Form::Kind::kVector);
    CHECK(form.reason ==
          "line 2 has an element that is picked by a computed index, which cannot be taken apart into tiles");
  }
}

TEST_CASE("form: rounds, where a program exchanges within a step") {
  const Forms forms = forms_of("powersgd");
  for (const Form& form : {forms.common, forms.cpu, forms.cuda}) {
    CHECK(form.kind == Form::Kind::kRounds);
    CHECK(form.reason == "it exchanges within a step");
  }
}

}  // namespace casync::compll
