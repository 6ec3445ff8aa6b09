// SPDX-License-Identifier: Apache-2.0
//
// Generated text: what it may not contain, and what the back end says it cannot write.
#include <pthread.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstddef>
#include <utility>

#include "compll/codegen/cpu/cpu.h"
#include "compll/codegen/cuda/codec_text.h"
#include "compll/lang/front_end.h"
#include "tests/compll/program/program_texts.h"
#include "tests/compll/support/programs.h"

namespace casync::compll {
namespace {

Result<std::string> text_for(const std::string& program_text) {
  const Source source("x.cll", program_text);
  Result<Program> program = compile(source);
  REQUIRE(program.status().text() == "OK");
  return cpu_text(*program, source, "x.cc");
}

std::string kernels_for(const std::string& program_text) {
  const Source source("x.cll", program_text);
  Result<Program> program = compile(source);
  REQUIRE(program.status().text() == "OK");
  program->declares.name = "x";
  const Result<CudaCodecText> text = cuda_codec_text(*program, source);
  REQUIRE(text.status().text() == "OK");
  return text_of(*text);
}

/// Calls it on a thread whose stack has a quarter of the usual size.
template <class Work>
void on_small_stack(Work work) {
  pthread_attr_t attributes;
  REQUIRE(pthread_attr_init(&attributes) == 0);
  REQUIRE(pthread_attr_setstacksize(&attributes, std::size_t{2} << 20) == 0);
  const auto run = [](void* of) -> void* {
    (*static_cast<Work*>(of))();
    return nullptr;
  };
  pthread_t thread{};
  REQUIRE(pthread_create(&thread, &attributes, run, &work) == 0);
  CHECK(pthread_join(thread, nullptr) == 0);
  CHECK(pthread_attr_destroy(&attributes) == 0);
}

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

TEST_CASE("codegen: operations that are made of each other, many of them, are not all inside of each other") {
  const Result<std::string> text = text_for(
      "void encode(float* g, uint8* compressed) {\n"
      "float* y = map(g, [&](float x) -> float {\n"
      "float z = x;\n"
      "repeat (256) { z = z * 0.5 + 1; z = 2 - z; }\n"
      "return z;\n"
      "});\n"
      "compressed = concat(y);\n}\n" +
      kDecode);
  REQUIRE(text.status().text() == "OK");
  int depth = 0, deepest = 0;
  for (const char c : *text) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    deepest = std::max(deepest, depth);
  }
  CHECK(deepest < 200);
}

TEST_CASE("codegen: kernels of numbers that are made of themselves twice, again and again, are written in time") {
  const auto divisions = [](const std::string& body) {
    return count(kernels_for("void encode(float* g, uint8* compressed) {\n"
                             "float* y = map(g, [&](float x) -> float {\n" +
                             body + "\n});\ncompressed = concat(y);\n}\n" + kDecode),
                 "divide_mild(");
  };
  CHECK(divisions("double d = x; repeat (4) { d = d + d; } return d / 3;") != 0);
  CHECK(divisions("double d = x; repeat (200) { d = d + d; } return d / 3;") == 0);
  CHECK(divisions("float m = from_bits(bits(x) & 0x7f800000); repeat (200) { m = m + m; } return m;") == 0);
  const std::string kernels = kernels_for(
      "param { uint p = 1 in 1..8; }\n"
      "void encode(float* g, uint8* compressed) {\n"
      "uint k = p;\n"
      "repeat (200) { k = k + k; }\n"
      "float* s = sort(g);\n"
      "float top = k == 7 ? reduce(s, max) : 1;\n"
      "compressed = concat(map(s, [&](float x) -> float { return x * top; }));\n}\n" +
      kDecode);
  CHECK_FALSE(kernels.empty());
}

TEST_CASE("codegen: kernels of as many values made of each other as a program has steps need no deep stack") {
  on_small_stack([] {
    const std::string kernels = kernels_for(
        "param { uint p = 1 in 1..8; }\n"
        "void encode(float* g, uint8* compressed) {\n"
        "uint k = p;\n"
        "repeat (250) { repeat (76) { k = k + k; } }\n"
        "float* s = sort(g);\n"
        "compressed = concat(map(s, [&](float x) -> float { return x * k; }));\n}\n" +
        kDecode);
    CHECK(count(kernels, "const uint32_t k_") >= 250 * 76);
  });
}

TEST_CASE("codegen: kernels of expressions that nest as deeply as the language says are written") {
  std::string sum = "x";
  for (int level = 0; level < 2; ++level) {
    for (int i = 0; i < 250; ++i) sum += " + x";
    sum = "(" + sum + ")";
  }
  const std::string kernels = kernels_for(
      "void encode(float* g, uint8* compressed) {\n"
      "float* s = sort(g);\n"
      "compressed = concat(map(s, [&](float x) -> float { return " +
      sum + "; }));\n}\n" + kDecode);
  CHECK(count(kernels, "add(") >= 500);
}

TEST_CASE("codegen: kernels of sent values that are each made of the two before them are written in time") {
  std::string maps;
  for (int i = 2; i <= 40; ++i) {
    const auto value = [](int number) { return "a" + std::to_string(number); };
    maps += "float* " + value(i) + " = map(" + value(i - 1) + ", " + value(i - 2) +
            ", [&](float x, float y) -> float { return x + y; });\n";
  }
  const std::string kernels = kernels_for(
      "codec x { feedback; }\n"
      "void encode(float* g, uint8* compressed) {\n"
      "uint* place = largest(g, 4, absolute);\n"
      "float* a0 = gather(g, place);\n"
      "float* a1 = map(a0, [&](float x) -> float { return x + 1; });\n" +
      maps +
      "compressed = concat(place, a40);\n}\n"
      "void decode(uint8* compressed, float* gradient) { uint* place; float* a; extract(compressed, place, a);\n"
      "gradient = scatter(place, a, gradient.size); }\n");
  CHECK(count(kernels, "a40_") != 0);
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

TEST_CASE("codegen: values of a block are handed from one loop to the next, and nothing else") {
  const Result<std::string> text = text_for(
      "void encode(float* g, uint8* compressed) {\n"
      "float* low = block_reduce(g, 16, min);\n"
      "float* high = block_reduce(g, 16, max);\n"
      "int8* y = map(g, spread(low, 16), spread(high, 16), [&](float x, float l, float h) -> int8 {\n"
      "  return x * (l + h);\n});\n"
      "compressed = concat(low, y);\n}\n"
      "void decode(uint8* compressed, float* gradient) { float* s; int8* y; extract(compressed, s, y);\n"
      "gradient = map(y, spread(s, 16), [&](int q, float x) -> float { return q * x; }); }\n");
  REQUIRE(text.status().text() == "OK");
  const std::size_t begin = text->find("struct Block0 {");
  REQUIRE(begin != text->npos);
  const std::string kept = text->substr(begin, text->find("};", begin) - begin);
  CHECK(count(kept, "float ") == 2);  // low for the residual, and the sum: high is used in the sum only
  CHECK(count(*text, "= blocks[k].") == 2);
  CHECK(count(*text, "for_fours(b, end,") == 2);
}

TEST_CASE("codegen: codes of up to four bits are looked up, where the element is made of nothing else of its own") {
  const auto text = [](const std::string& bits, const std::string& value) {
    return *text_for(
        "void encode(float* g, uint8* compressed) {\nuint" + bits + "* y = map(g, [&](float x) -> uint" + bits +
        " { return x; });\ncompressed = concat(y);\n}\nvoid decode(uint8* compressed, float* gradient) {\nuint" + bits +
        "* y; extract(compressed, y);\ngradient = map(y, range(gradient.size), [&](uint q, int i) -> float {" +
        " return " + value + "; });\n}\n");
  };
  CHECK(count(text("4", "q * 2.5"), "CodeTable<4, Uint> table;") == 1);
  CHECK(count(text("1", "q * 2.5"), "CodeTable<1, Uint> table;") == 1);
  CHECK(count(text("5", "q * 2.5"), "CodeTable") == 0);
  CHECK(count(text("4", "q * i"), "CodeTable") == 0);
}

TEST_CASE("codegen: values for a residual only are computed where one is kept") {
  const std::string text = *text_for(
      "codec x { number 200; feedback; }\n"
      "void encode(float* g, uint8* compressed) {\n"
      "uint8* y = map(g, [&](float x) -> uint8 { return x; });\ncompressed = concat(y);\n}\n"
      "void decode(uint8* compressed, float* gradient) { uint8* y; extract(compressed, y);\n"
      "gradient = map(y, [&](uint q) -> float { return sqrt(q); }); }\n");
  const std::size_t asked = text.find("if (residual != nullptr) {");
  REQUIRE(asked != text.npos);
  const std::string encode = text.substr(text.find("bool pass_0("));
  CHECK(count(encode, "sqrt(to_float(") == 1);
  CHECK(text.find("sqrt(to_float(", asked) != text.npos);
}

TEST_CASE("codegen: blocks are rotated in one array, and back only where a residual is kept") {
  const std::string text = *text_for(source_of("rht4"));
  const std::string encode = text.substr(text.find("bool pass_0("));
  CHECK(count(encode, "rotated_array(scratch") == 1);
  CHECK(count(encode, "rotate_blocks(rotated0 + first") == 2);
  CHECK(count(encode, "if (residual != nullptr) {\n      rotate_blocks(rotated0 + first") == 1);
}

TEST_CASE("codegen: a pass that only a residual needs is not made without one") {
  const std::string text = *text_for(source_of("signsgd")), pass = text.substr(text.find("bool pass_1("));
  CHECK(pass.find("if (residual != nullptr) {") < pass.find("for_groups("));
}

TEST_CASE("codegen: a bit is stored and counted as its condition, and the elements of a block are not counted") {
  const std::string text = *text_for(
      "void encode(float* g, uint8* compressed) {\n"
      "(uint1* below, uint1* one) = map(g, [&](float x) -> (uint1, uint1) { return (x < 0, 1); });\n"
      "uint* downs = block_reduce(below, 64, count);\n"
      "uint* all = block_reduce(one, 64, count);\n"
      "compressed = concat(downs, all, below);\n}\n"
      "void decode(uint8* compressed, float* gradient) { uint* d, a; uint1* b; extract(compressed, d, a, b);\n"
      "gradient = map(b, spread(d, 64), spread(a, 64), [&](uint x, uint y, uint z) -> float { return x + y + z; }); "
      "}\n");
  const std::string encode = text.substr(text.find("bool pass_0("));
  CHECK(count(encode, "to_uint<1>(") == 0);
  CHECK(count(encode, "Count reduced") == 1);
  CHECK(count(encode, "static_cast<uint32_t>(end - b)") == 1);
}

TEST_CASE("codegen: a conversion of what fits is nothing") {
  const auto line = [](const std::string& value) {
    const std::string text = *text_for(
        "void encode(float* g, uint8* compressed) {\nuint8* y = map(g, [&](float x) -> uint8 { return " + value +
        "; });\ncompressed = concat(y);\n}\nvoid decode(uint8* compressed, float* gradient) { uint8* y;\n"
        "extract(compressed, y); gradient = map(y, [&](uint q) -> float { return q; }); }\n");
    return count(text, "to_uint<8>(");
  };
  CHECK(line("bits(x) >> 24") == 0);
  CHECK(line("bits(x) & 0xff") == 0);
  CHECK(line("min(bits(x), 200)") == 0);
  CHECK(line("(bits(x) & 0x7f) | (x < 0 ? 0x80 : 0)") == 0);
  CHECK(line("x > 0 ? bits(x) & 3 : 255") == 0);
  CHECK(line("(bits(x) & 0x7f) + (bits(x) & 0x7f)") == 0);
  CHECK(line("200 - (bits(x) & 0x7f)") == 0);
  CHECK(line("min(max(int(bits(x)), 3), 255)") == 0);
  // For floats, min and max return NaN if their first operand is NaN, and only then.
  CHECK(line("min(255, abs(x))") == 0);
  CHECK(line("max(0, min(255, x))") == 0);
  CHECK(line("max(3, min(x > 0 ? 7 : 200, x))") == 0);
  CHECK(line("-max(-255, min(0, x))") == 0);
  CHECK(line("min(abs(x), 255)") == 1);
  CHECK(line("max(min(255, x), 0)") == 0);
  CHECK(line("max(min(x, 255), 0)") == 1);
  CHECK(line("min(255, x)") == 1);
  CHECK(line("max(0, min(256, x))") == 1);
  CHECK(line("bits(x) >> 23") == 1);
  CHECK(line("100 - (bits(x) & 0x7f)") == 1);
  CHECK(line("(bits(x) & 0x80) + (bits(x) & 0x80)") == 1);
  CHECK(line("bits(x) & 0x1ff") == 1);
}

TEST_CASE("codegen: a parameter that types are made of is a number, and levels that it bounds need no clamping") {
  const std::string text = *text_for(source_of("qsgd"));
  CHECK(count(text, "to_int<4>(") == 0);
  CHECK(count(text, "as_uint(truncated((min(Float(117440512.0f), ") == 1);  // 7 << 24
}

TEST_CASE("codegen: a reduction that some parameters ask for is fed for these only") {
  const std::string qsgd = *text_for(source_of("qsgd")), terngrad = *text_for(source_of("terngrad"));
  const auto follows = [](const std::string& text, const std::string& condition, const std::string& reduction) {
    const std::size_t at = text.find("if (" + condition);
    return at != text.npos && text.find(reduction, at) < text.find('}', at);
  };
  CHECK(follows(qsgd, "v", ".take(result_"));
  CHECK(count(terngrad, "if (v") == 2);  // the sum and the sum of squares
  // The check that all is finite has no condition: it uses the largest magnitude.
  CHECK_FALSE(follows(qsgd, "!v", ".take("));
  for (const std::string* text : {&qsgd, &terngrad}) {
    CHECK(count(*text, "Magnitude") == (text == &qsgd ? 1 : 2));  // there, and where the tensor's is declared
  }
}

TEST_CASE("codegen: float16 in the words of the codec fp16 is the machine's own") {
  const std::string fp16 = source_of("fp16");
  const std::string text = *text_for(fp16);
  CHECK(count(text, "to_half(gradient_0)") == 1);
  CHECK(count(text, "from_half(") == 2);  // in decode, and for the residual
  CHECK(count(text, "select(") == 0);
  CHECK(count(text, "shift_left<") == 0);
  // Anything else is computed as it is written.
  CHECK(count(*text_for(changed(fp16, "0x7e00", "0x7c01")), "to_half(") == 0);
  CHECK(count(*text_for(changed(fp16, "0x400000", "0x200000")), "from_half(") == 0);
}

TEST_CASE("codegen: values that an idiom replaces are computed where something else needs them") {
  const std::string also =
      changed(changed(source_of("fp16"), "compressed = concat(halves);",
                      "uint16* signs = map(gradient, [&](float x) -> uint16 { return bits(x) >> 16 & 0x8000; });\n"
                      "  compressed = concat(halves, signs);"),
              "  uint16* halves;\n  extract(compressed, halves);",
              "  uint16* halves, signs;\n  extract(compressed, halves, signs);");
  const std::string text = *text_for(also);
  CHECK(count(text, "to_half(gradient_0)") == 1);
  CHECK(count(text, "shift_right<16>(bits(gradient_0)) & Uint(32768u)") == 1);
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

TEST_CASE("codegen: operators that cannot go tile by tile give the vector form") {
  const auto takes_vector_form = [](const std::string& text) {
    const Result<std::string> made = text_for(text);
    REQUIRE(made.status().text() == "OK");
    return made->find("vector_form-inl.h") != made->npos;
  };
  CHECK_FALSE(takes_vector_form("void encode(float* g, uint8* compressed) { compressed = concat(g); }\n" + kDecode));
  // The loops work on sixteen elements at a time.
  for (const char* block : {"8", "24", "48"}) {
    const std::string blocks = "float* t = spread(block_reduce(g, " + std::string(block) + ", max), " + block + ");\n";
    CHECK(takes_vector_form("void encode(float* g, uint8* compressed) {\n" + blocks + "compressed = concat(t);\n}\n" +
                            kDecode));
  }
  // More neighbours than a GPU's warp has at once.
  for (const auto& [size, vector] : {std::pair("128", false), std::pair("256", true)}) {
    CHECK(takes_vector_form("void encode(float* g, uint8* compressed) {\nfloat* y = hadamard(g, " + std::string(size) +
                            ");\ncompressed = concat(y);\n}\n" + kDecode) == vector);
  }
  // Tiles could not write entries that begin within a byte apart.
  CHECK(takes_vector_form(
      "void encode(float* g, uint8* compressed) {\n"
      "float* top = block_reduce(g, 16, max);\n"
      "uint4* t = map(top, [&](float x) -> uint4 { return x; });\n"
      "compressed = concat(t, g);\n}\n"
      "void decode(uint8* compressed, float* gradient) { uint4* t; float* y; extract(compressed, t, y);\n"
      "gradient = map(y, spread(t, 16), [&](float x, uint4 u) -> float { return x + u; }); }\n"));
  CHECK(takes_vector_form(
      "void encode(float* g, uint8* compressed) {\n"
      "float one = 1;\n"
      "float m = reduce(g, 0, [&](float a, float b) -> float { return a + b * one; });\n"
      "compressed = concat(g, m);\n}\n"
      "void decode(uint8* compressed, float* gradient) { float* y; float m; extract(compressed, y, m);\n"
      "gradient = map(y, [&](float x) -> float { return x; }); }\n"));
  CHECK(
      takes_vector_form("void encode(float* g, uint8* compressed) {\n"
                        "float* y = map(g, [&](float x) -> float { return g[0]; });\ncompressed = concat(y);\n}\n" +
                        kDecode));
  CHECK(takes_vector_form(
      "void encode(float* g, uint8* compressed) {\n"
      "float* a = block_reduce(g, 16, max);\nfloat* b = block_reduce(g, 32, max);\n"
      "float* y = map(spread(a, 16), spread(b, 32), [&](float x, float y) -> float { return x + y; });\n"
      "compressed = concat(y);\n}\n" +
      kDecode));
}

TEST_CASE("codegen: operators that cannot be generated are named") {
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
