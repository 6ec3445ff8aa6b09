// SPDX-License-Identifier: Apache-2.0
//
// The text that is generated: what it may not contain, and what the back end says it cannot write.
#include <catch2/catch.hpp>

#include "compll/codegen/cpu.h"
#include "compll/lang/front_end.h"

namespace casync::compll {
namespace {

Result<std::string> text_for(const std::string& program_text) {
  const Source source("x.cll", program_text);
  Result<Program> program = compile(source);
  REQUIRE(program.status().text() == "OK");
  return cpu_text(*program, source, "x.cc");
}

const std::string kDecode =
    "void decode(uint8* compressed, float* gradient) { float* y; extract(compressed, y);\n"
    "gradient = map(y, [&](float x) -> float { return x; }); }\n";

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; at += part.size()) ++found;
  return found;
}

}  // namespace

TEST_CASE("codegen: a source line that ends in a backslash does not take the next line into its comment") {
  const Result<std::string> text = text_for(
      "void encode(float* g, uint8* compressed) {\n"
      "float* twice = map(g, [&](float x) -> float { return 2 * x; });  // \\\n"
      "compressed = concat(twice);\n}\n" +
      kDecode);
  REQUIRE(text.status().text() == "OK");
  CHECK(text->find("return 2 * x") != text->npos);
  CHECK(text->find("\\\n") == text->npos);
}

TEST_CASE("codegen: a section that is named twice gets two names") {
  const Result<std::string> text = text_for(
      "void encode(float* g, uint8* compressed) { compressed = concat(g, g); }\n"
      "void decode(uint8* compressed, float* gradient) { float* y, z; extract(compressed, y, z);\n"
      "gradient = map(y, z, [&](float a, float b) -> float { return a + b; }); }\n");
  REQUIRE(text.status().text() == "OK");
  CHECK(count(*text, "const std::byte* g_at0;") == 1);
  CHECK(count(*text, "const std::byte* g_at1;") == 1);
}

TEST_CASE("codegen: operators that feed each other become one pass over memory") {
  const auto passes = [](const std::string& text) { return count(text, "HWY_INLINE bool pass_"); };
  const std::string scaled =
      "float* y = map(g, [&](float x) -> float { return x * x; });\nfloat* z = map(y, [&](float x) "
      "-> float { return x + 1; });\n";
  CHECK(passes(*text_for("void encode(float* g, uint8* compressed) {\n" + scaled + "compressed = concat(z);\n}\n" +
                         kDecode)) == 1);
  CHECK(passes(*text_for("void encode(float* g, uint8* compressed) {\nfloat top = reduce(g, magnitude);\n"
                         "float* z = map(g, [&](float x) -> float { return x / top; });\ncompressed = concat(z);\n}\n" +
                         kDecode)) == 2);
}

TEST_CASE("codegen: what cannot be done tile by tile is done for the whole vector") {
  const auto works_on_whole = [](const std::string& text) {
    const Result<std::string> made = text_for(text);
    REQUIRE(made.status().text() == "OK");
    return made->find("whole-inl.h") != made->npos;
  };
  CHECK_FALSE(works_on_whole("void encode(float* g, uint8* compressed) { compressed = concat(g); }\n" + kDecode));
  // Tiles could not write entries that begin within a byte apart.
  CHECK(works_on_whole(
      "void encode(float* g, uint8* compressed) {\n"
      "float* top = block_reduce(g, 16, max);\n"
      "uint4* t = map(top, [&](float x) -> uint4 { return x; });\n"
      "compressed = concat(t, g);\n}\n"
      "void decode(uint8* compressed, float* gradient) { uint4* t; float* y; extract(compressed, t, y);\n"
      "gradient = map(y, spread(t, 16), [&](float x, uint4 u) -> float { return x + u; }); }\n"));
  CHECK(
      works_on_whole("void encode(float* g, uint8* compressed) {\n"
                     "float one = 1;\n"
                     "float m = reduce(g, 0, [&](float a, float b) -> float { return a + b * one; });\n"
                     "compressed = concat(g, m);\n}\n"
                     "void decode(uint8* compressed, float* gradient) { float* y; float m; extract(compressed, y, m);\n"
                     "gradient = map(y, [&](float x) -> float { return x; }); }\n"));
  CHECK(
      works_on_whole("void encode(float* g, uint8* compressed) {\n"
                     "float* y = map(g, [&](float x) -> float { return g[0]; });\ncompressed = concat(y);\n}\n" +
                     kDecode));
  CHECK(
      works_on_whole("void encode(float* g, uint8* compressed) {\n"
                     "float* a = block_reduce(g, 16, max);\nfloat* b = block_reduce(g, 32, max);\n"
                     "float* y = map(spread(a, 16), spread(b, 32), [&](float x, float y) -> float { return x + y; });\n"
                     "compressed = concat(y);\n}\n" +
                     kDecode));
}

TEST_CASE("codegen: what cannot be generated is named") {
  const Result<std::string> made = text_for(
      "void encode(float* g, uint8* compressed) {\nfloat* a = block_reduce(g, 16, max);\n"
      "float* b = block_reduce(g, 32, max);\ncompressed = concat(a, b);\n}\n"
      "void decode(uint8* compressed, float* gradient) { float* a, b; extract(compressed, a, b);\n"
      "gradient = map(spread(a, 16), spread(b, 32), [&](float x, float y) -> float { return x + y; }); }\n");
  REQUIRE_FALSE(made.is_ok());
  CHECK(made.status().code() == StatusCode::kUnimplemented);
  CHECK(made.status().message() == "x.cll: sections for blocks of two sizes cannot be compiled, only interpreted");
}

}  // namespace casync::compll
