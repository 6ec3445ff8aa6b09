// SPDX-License-Identifier: Apache-2.0
//
// The text of kernels: one that is reviewed like code, how many launches a codec takes, and what is refused.
#include <algorithm>
#include <catch2/catch.hpp>

#include "compll/codegen/cuda/launches.h"
#include "compll/codegen/cuda/rounds.h"
#include "compll/codegen/cuda/tiles.h"
#include "compll/codegen/cuda/vector.h"
#include "compll/ir/form.h"
#include "compll/ir/tiles/cuda/plan.h"
#include "compll/lang/front_end.h"
#include "tests/compll/support/programs.h"
#include "tests/support/golden.h"

namespace casync::compll {
namespace {

struct Made {
  Result<CudaText> text;
  bool reduces_tensor = false;  ///< encode has a reduction to one value for the tensor
};

Made made_from(const std::string& name, const std::string& program_text) {
  const Source source(name, program_text);
  Result<Program> program = compile(source);
  REQUIRE(program.status().text() == "OK");
  if (program->declares.name.empty()) program->declares.name = "x";
  const Result<Lowered> lowered = lower(*program, source);
  if (!lowered) return {lowered.status()};
  const std::vector<Value>& values = lowered->encode.graph.values();
  const bool reduces =
      std::any_of(values.begin(), values.end(), [](const Value& value) { return value.kind == Value::Kind::kReduce; });
  return {cuda_text(*program, *lowered, source), reduces};
}

Made made_from_codec(const std::string& name) { return made_from(name + ".cll", source_of(name)); }

Result<CudaVectorForm> vector_form_from(const std::string& name, const std::string& program_text) {
  const Source source(name, program_text);
  Result<Program> program = compile(source);
  REQUIRE(program.status().text() == "OK");
  if (program->declares.name.empty()) program->declares.name = "x";
  return cuda_vector_text(*program, source);
}

/// Kernels that code sections, join the blocks, and find and read them.
constexpr std::size_t kCodingKernels = 4;

bool has_coded_sections(const Program& program) {
  return std::any_of(program.sections.begin(), program.sections.end(),
                     [](const Section& section) { return section.coding != Coding::kPlain; });
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != text.npos; at += part.size()) ++found;
  return found;
}

/// Number of words that follow from a segment's size.
std::size_t words_of_geometry(const std::string& text) {
  std::size_t words = 0;
  for (const char* name : {"struct Lengths", "struct Sections", "struct Memory"}) {
    const std::size_t begin = text.find(name), end = text.find("COMPLL_BOTH", begin);
    words += count(text.substr(begin, end - begin), "uint64_t ") + count(text.substr(begin, end - begin), ", ");
  }
  return words;
}

/// `encode 5, decode 2`.
std::string stages_of(const CudaVectorForm& made) {
  std::string text;
  for (const auto& [function, stages] : made.stages) {
    text += (text.empty() ? "" : ", ") + function + " " + std::to_string(stages);
  }
  return text;
}

const std::string kDecode =
    "void decode(uint8* compressed, float* gradient) { float* y; extract(compressed, y);\n"
    "gradient = map(y, [&](float x) -> float { return x; }); }\n";

std::string reason(const std::string& text) {
  const Made made = made_from("x.cll", text);
  REQUIRE_FALSE(made.text.is_ok());
  CHECK(made.text.status().code() == StatusCode::kUnimplemented);
  return made.text.status().message().substr(0, made.text.status().message().find('\n'));
}

}  // namespace

TEST_CASE("cuda text: int4, as it is compiled") {
  const Made made = made_from_codec("int4");
  REQUIRE(made.text.status().text() == "OK");
  CHECK(test::golden("int4.cu", made.text->text) == made.text->text);
}

TEST_CASE("cuda text: one launch encodes, and two where the tensor has statistics") {
  std::size_t written = 0;
  for (const std::string& name : written_names()) {
    const Made made = made_from_codec(name);
    if (!made.text) continue;
    ++written;
    INFO(name);
    const cuda::Shape& shape = made.text->shape;
    CHECK(shape.statistics == made.reduces_tensor);
    const std::size_t coding = 4 * count(made.text->text, "kCodings = ");
    CHECK(made.text->kernels.size() == (shape.statistics ? 5u : 3u) + (made.text->has_result ? 1 : 0) + coding);
    CHECK(count(made.text->text, "__global__") == made.text->kernels.size());
    for (const std::string& kernel : made.text->kernels) CHECK(count(made.text->text, " " + kernel + "(") == 1);
  }
  CHECK(written >= 16);
}

TEST_CASE("cuda text: topk, as it is compiled") {
  const Result<CudaVectorForm> made = vector_form_from("topk.cll", source_of("topk"));
  REQUIRE(made.status().text() == "OK");
  CHECK(test::golden("topk.cu", made->text) == made->text);
}

TEST_CASE(
    "cuda text: a state that is an array changed at some places is made where it is kept, unless others look at it") {
  const std::string largest = "  uint* place = largest(all, selected(0.1, all.size), absolute);\n";
  const auto copies = [&](const std::string& sent, const std::string& chosen) {
    const std::string text =
        "state float* unsent;\n"
        "void encode(float* gradient, uint8* compressed) {\n"
        "  float* all = map(gradient, unsent, [&](float x, float e) -> float { return x + e; });\n" +
        chosen +
        "  float* value = gather(all, place);\n"
        "  unsent = scatter(place, 0, all);\n" +
        sent +
        "}\n"
        "void decode(uint8* compressed, float* gradient) { uint* p; float* v; float t; extract(compressed, p, v, t);\n"
        "gradient = scatter(p, map(v, [&](float x) -> float { return x + t; }), gradient.size); }\n";
    const Result<CudaVectorForm> made = vector_form_from("x.cll", text);
    REQUIRE(made.status().text() == "OK");
    return count(made->text, "fill(part, n, all_") - 1;
  };
  CHECK(copies("  compressed = concat(place, value, 1.0);\n", largest) == 0);
  CHECK(copies("  float* own = map(value, [&](float x) -> float { return x * 2; });\n"
               "  compressed = concat(place, own, 1.0);\n",
               largest) == 0);
  // A threshold is known earlier than any place.
  CHECK(copies("  compressed = concat(place, value, tau);\n",
               "  float tau = kth_largest(all, 9, absolute);\n"
               "  uint* place = where(all, 9, [&](float x) -> bool { return abs(x) >= tau; });\n") == 0);
  // Sums of chunks are shared in another way than places, and these come after the change, or next to the places.
  CHECK(copies("  compressed = concat(place, value, float(reduce(value, sum)));\n", largest) == 1);
  CHECK(copies("  compressed = concat(place, value, float(reduce(all, sum)));\n", largest) == 1);
  CHECK(copies("  float* next = map(place, [&](uint p) -> float { return all[p + 1]; });\n"
               "  compressed = concat(place, next, 1.0);\n",
               largest) == 1);
}

TEST_CASE("cuda text: programs differ in whether all that follows from a size finds room in shared memory") {
  const Result<CudaVectorForm> crowded = vector_form_from("kth.cll", test_program("kth"));
  REQUIRE(crowded.status().text() == "OK");
  CHECK(words_of_geometry(crowded->text) > cuda::kGeometryWords);
  const Result<CudaVectorForm> usual = vector_form_from("topk.cll", source_of("topk"));
  REQUIRE(usual.status().text() == "OK");
  CHECK(words_of_geometry(usual->text) <= cuda::kGeometryWords);
}

TEST_CASE("cuda text: a program that sends places and their elements keeps the residual in the launch that encodes") {
  for (const auto& [name, keeps] : {std::pair("topk", true),
                                    {"graddrop", true},
                                    {"threshold", true},
                                    {"mstopk", true},
                                    {"stc", false},
                                    {"topk_lloyd", false},
                                    {"randomk", false},
                                    {"dgc", false}}) {
    INFO(name);
    const Result<CudaVectorForm> made = vector_form_from(std::string(name) + ".cll", source_of(name));
    REQUIRE(made.status().text() == "OK");
    CHECK(made->keeps_residual == keeps);
    CHECK((made->text.find("part.segment.residual_out != nullptr) add_at(") != std::string::npos) == keeps);
  }
}

TEST_CASE("cuda text: a pass over all elements for a threshold reduces them, too, if no order can be seen") {
  const auto made_of = [](const std::string& name, const std::string& text) {
    const Result<CudaVectorForm> made = vector_form_from(name, text);
    REQUIRE(made.status().text() == "OK");
    return made->text;
  };
  const auto beside = [&](const std::string& reduction) {
    return made_of("x.cll",
                   "param { uint asked = 1 in 0..1; }\nvoid encode(float* g, uint8* compressed) {\n"
                   "float least = kth_largest(g, 9);\nfloat other = " +
                       reduction +
                       ";\ncompressed = concat(map(g, [&](float x) -> float { return x < least ? 0 : other; }));\n}\n" +
                       kDecode);
  };
  CHECK(count(beside("reduce(g, max)"), "join_tensor(") == 1);
  const std::string magnitude = beside("reduce(g, magnitude)");
  CHECK(count(magnitude, "join_tensor(magnitude_") == 1);
  CHECK(count(magnitude, "reduce_joined<") == 0);
  for (const char* reduction : {"reduce(g, sum)", "asked == 1 ? reduce(g, max) : 1", "reduce(gather(g, range(5)), max)",
                                "reduce(map(g, [&](float x) -> float { return x + least; }), max)"}) {
    INFO(reduction);
    CHECK(count(beside(reduction), "join_tensor(") == 0);
  }
}

TEST_CASE("cuda text: one launch for each function of a program in vector form, and its stages") {
  // Three stages find the least key that is chosen, which is all that a threshold needs; one writes the places, one
  // uses them; each result that all elements wait for takes a stage more. If a place may occur twice, decoding takes
  // two.
  std::string all;
  for (const std::string& name : written_names()) {
    const Source source(name + ".cll", source_of(name));
    const Result<Program> program = compile(source);
    REQUIRE(program.status().text() == "OK");
    if (form_of(*program, source, plan_cuda_tiles).kind != Form::Kind::kVector) continue;
    const Result<CudaVectorForm> made = cuda_vector_text(*program, source);
    REQUIRE(made.status().text() == "OK");
    all += name + ": " + stages_of(*made) + "\n";
    CHECK(made->kernels.size() == made->stages.size() + (has_coded_sections(*program) ? kCodingKernels : 0));
    CHECK(count(made->text, "__global__") == made->kernels.size() + 1);  // and one for the sizes
    std::size_t written = 0;
    for (const auto& [function, some] : made->stages) written += some;
    CHECK(count(made->text, "static void stage_") == written);
    for (const std::string& kernel : made->kernels) CHECK(count(made->text, " " + kernel + "(") == 1);
  }
  CHECK(test::golden("stages.txt", all) == all);
}

TEST_CASE("cuda text: a function takes one launch, and two only where codes depend on all of the tensor") {
  const auto launches_of = [](const std::string& name, const std::string& program_text) {
    const Source source(name, program_text);
    const Result<Program> program = compile(source);
    REQUIRE(program.status().text() == "OK");
    return cuda_launches(*program, source);
  };
  std::size_t written = 0;
  for (const std::string& name : written_names()) {
    const std::string launches = launches_of(name + ".cll", source_of(name));
    INFO(name + ": " + launches);
    ++written;
    const std::string number = name == "nvfp4" ? "2" : "1";  // its scales depend on the largest element of all
    CHECK(count(launches, "on a GPU: encode " + number + " launch") == 1);
    CHECK(count(launches, "merge") <= count(launches, "merge " + number));
    CHECK(count(launches, "decode 1") == 1);
    CHECK(count(launches, "; coded sections: 2") == has_codings(*compile(Source(name, source_of(name)))));
  }
  CHECK(written >= 30);

  const auto scaled = [](const std::string& by, const std::string& declares) {
    return "codec scaled { number 230; " + declares +
           " }\n"
           "void encode(float* gradient, uint8* compressed) { float top = reduce(gradient, magnitude);\n"
           "int8* q = map(gradient, [&](float x) -> int8 { return x / " +
           by +
           "; }); compressed = concat(top, q); }\n"
           "void decode(uint8* compressed, float* gradient) { float top; int8* q; extract(compressed, top, q);\n"
           "gradient = map(q, [&](int x) -> float { return x * top; }); }\n";
  };
  CHECK(count(launches_of("x.cll", scaled("top", "")), "encode 2 launches, merge 2, decode 1") == 1);
  // The codes do not depend on the scale, which is sent. Decoded elements depend on it, and so does a residual.
  CHECK(count(launches_of("x.cll", scaled("8", "")), "encode 1 launch, merge 1, decode 1") == 1);
  CHECK(count(launches_of("x.cll", scaled("8", "feedback;")), "encode 2 launches, merge 2, decode 1") == 1);
}

TEST_CASE("cuda text: a turn takes one launch, and a stage for whatever needs what all tiles have made") {
  // Turn 0: magnitudes of the kept vectors, the orthonormal guess, products. Turn 1: orthonormal sum, products, copy.
  const std::string path = "powersgd.cll";
  const Source source(path, source_of("powersgd"));
  const Result<Program> program = compile(source);
  REQUIRE(program.status().text() == "OK");
  const Result<CudaRounds> made = cuda_rounds_text(*program, source);
  REQUIRE(made.status().text() == "OK");
  CHECK(made->stages == std::vector<std::uint32_t>{3, 3, 1});
  CHECK(made->kernels ==
        std::vector<std::string>{"casync_powersgd_turn_0", "casync_powersgd_turn_1", "casync_powersgd_turn_2"});
  CHECK(count(made->text, "__global__") == 4);
  CHECK(count(made->text, "static void stage_") == 7);
  // The gradient and what was left of the last one are read once, and their sum is written once.
  CHECK(count(made->text, "part.given()") == 1);
  CHECK(count(made->text, "products_of_rows(part, n, Filling{m_8, m_8_filled}") == 1);
  CHECK(cuda_launches(*program, source) == "on a GPU: turn 0: 1 launch of 3 stages, turn 1: 1 of 3, turn 2: 1\n");
  CHECK(cuda_vector_text(*program, source).status().message() == path + ": `synchronize` is compiled by turns");
  const Source picks("sketched_topk.cll", source_of("sketched_topk"));
  CHECK(cuda_launches(*compile(picks), picks) ==
        "on a GPU: turn 0: 1 launch of 4 stages, turn 1: 1 of 5, turn 2: 1 of 6\n");
}

TEST_CASE("cuda text: operators that no turn has are named with their place") {
  const std::string text =
      "codec x { shape rows columns; }\nvoid synchronize(float* g, float* result) {\n"
      "int* place = map(g, [&](float x) -> int { return x; });\n"
      "result = exchange(scatter_add(place, g, g));\n}\n";
  const Source source("x.cll", text);
  const Result<Program> program = compile(source);
  REQUIRE(program.status().text() == "OK");
  const Result<CudaRounds> made = cuda_rounds_text(*program, source);
  CHECK(made.status().code() == StatusCode::kUnimplemented);
  CHECK(made.status().message().find("x.cll:4:19: error: `scatter_add` at places that may be there twice cannot be "
                                     "compiled for CUDA, only interpreted") == 0);
  const Source other("int4.cll", source_of("int4"));
  CHECK(cuda_rounds_text(*compile(other), other).status().message() == "int4.cll: exchanges nothing");
}

TEST_CASE("cuda text: a magnitude of the tensor is found by tiles, a sum in its order is not") {
  CHECK(made_from_codec("signsgd").text->shape.statistics);
  CHECK(made_from_codec("terngrad").text.status().code() == StatusCode::kUnimplemented);
}

TEST_CASE(
    "cuda text: states go by tiles where each element is made of its own, sums and results by kernels of their own") {
  CHECK(made_from_codec("diana").text->kernels == std::vector<std::string>{"casync_diana_encode", "casync_diana_merge",
                                                                           "casync_diana_decode",
                                                                           "casync_diana_result"});
  CHECK(count(made_from_codec("ecqsgd").text->text, "CodecOfSums") == 0);
  CHECK(made_from_codec("ef21").text.status().code() == StatusCode::kUnimplemented);
}

TEST_CASE("cuda text: a source line that ends in a backslash does not take the next line into its comment") {
  const Made made = made_from("x.cll",
                              "void encode(float* g, uint8* compressed) {\n"
                              "float* twice = map(g, [&](float x) -> float { return 2 * x; });  // \\\n"
                              "compressed = concat(twice);\n}\n" +
                                  kDecode);
  REQUIRE(made.text.status().text() == "OK");
  CHECK(made.text->text.find("return 2 * x") != std::string::npos);
  CHECK(made.text->text.find("\\\n") == std::string::npos);
}

TEST_CASE("cuda text: a product with a constant too small for a float is divided with every check") {
  const auto divided = [](const std::string& factor) {
    const Made made = made_from(
        "x.cll",
        "void encode(float* g, uint8* compressed) {\nfloat* y = map(g, [&](float x) -> float { return double(x) * " +
            factor + " / 3; });\ncompressed = concat(y);\n}\n" + kDecode);
    REQUIRE(made.text.status().text() == "OK");
    return count(made.text->text, "divide_mild(") == 0;
  };
  CHECK_FALSE(divided("double(1e-30)"));
  CHECK(divided("(double(1e-30) * 1e-30)"));
  CHECK(divided("(double(1e20) * 1e20)"));
}

TEST_CASE("cuda text: operators that cannot be written are named with their place") {
  CHECK(reason("void encode(float* g, uint8* compressed) {\nfloat* top = block_reduce(g, 24, max);\n"
               "compressed = concat(top, g);\n}\n"
               "void decode(uint8* compressed, float* gradient) { float* t; float* y; extract(compressed, t, y);\n"
               "gradient = map(y, spread(t, 24), [&](float x, float u) -> float { return x + u; }); }\n") ==
        "x.cll: blocks of 24 elements cannot be compiled for CUDA by tiles; take a power of two from 16 on");
  CHECK(
      reason("void encode(float* g, uint8* compressed) {\nfloat* top = block_reduce(g, 16, max);\n"
             "uint4* t = map(top, [&](float x) -> uint4 { return x; });\ncompressed = concat(t, g);\n}\n"
             "void decode(uint8* compressed, float* gradient) { uint4* t; float* y; extract(compressed, t, y);\n"
             "gradient = map(y, spread(t, 16), [&](float x, uint4 u) -> float { return x + u; }); }\n") ==
      "x.cll: section `t` has entries of uint4 for each block, which cannot be compiled for CUDA by tiles; widen them "
      "to whole bytes");
  CHECK(reason("void encode(float* g, uint8* compressed) {\n"
               "double* wide = map(g, [&](float x) -> double { return x; });\n"
               "double most = reduce(wide, max);\ncompressed = concat(g, most);\n}\n"
               "void decode(uint8* compressed, float* gradient) { float* y; double m; extract(compressed, y, m);\n"
               "gradient = map(y, [&](float x) -> float { return x; }); }\n") ==
        "x.cll:3:15: error: this reduction cannot be compiled for CUDA by tiles");
  CHECK(reason("void encode(float* g, uint8* compressed) {\n"
               "float* total = map(block_reduce(hadamard(g, 64), 16, sum), [&](double s) -> float { return s; });\n"
               "compressed = concat(total, g);\n}\n"
               "void decode(uint8* compressed, float* gradient) { float* t; float* y; extract(compressed, t, y);\n"
               "gradient = map(y, spread(t, 16), [&](float x, float u) -> float { return x + u; }); }\n") ==
        "x.cll:1:20: error: `hadamard` together with sums of blocks cannot be compiled for CUDA by tiles");
}

TEST_CASE("cuda text: operators that cannot be written in vector form are named with their place") {
  const auto reason_of = [](const std::string& encode) {
    const Result<CudaVectorForm> made =
        vector_form_from("x.cll", "void encode(float* g, uint8* compressed) {\n" + encode + "}\n" + kDecode);
    REQUIRE_FALSE(made.is_ok());
    CHECK(made.status().code() == StatusCode::kUnimplemented);
    return made.status().message().substr(0, made.status().message().find('\n'));
  };
  CHECK(reason_of("int* place = map(g, [&](float x) -> int { return x; });\n"
                  "float* more = scatter_add(place, g, g);\ncompressed = concat(more);\n") ==
        "x.cll:3:15: error: `scatter_add` at places that may be there twice cannot be compiled for CUDA, only "
        "interpreted");
  CHECK(reason_of("double* wide = map(g, [&](float x) -> double { return x; });\n"
                  "double most = reduce(wide, max);\n"
                  "float* y = map(g, [&](float x) -> float { return x * most; });\ncompressed = concat(y);\n") ==
        "x.cll:3:15: error: this reduction cannot be compiled for CUDA, only interpreted");
  CHECK(reason_of("float half = reduce(g, sum);\n"
                  "float all = reduce(g, 0, [&](float a, float b) -> float { return a + half * b; });\n"
                  "float* y = map(g, [&](float x) -> float { return x * all; });\ncompressed = concat(y);\n")
            .find("x.cll:3:70: error: a function that sees this") == 0);
}

}  // namespace casync::compll
