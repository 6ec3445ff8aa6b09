// SPDX-License-Identifier: Apache-2.0
//
// The suite of `casync codec check`: it passes codecs that keep what they promise, and notices each way not to.
#include <catch2/catch.hpp>
#include <cmath>

#include "compll/codec/generated_codec.h"
#include "compll/codec/written.h"
#include "compll/interpreter/program_codec.h"
#include "compll/load/file_program.h"
#include "tests/compll/support/programs.h"
#include "tests/compll/support/run_codec.h"
#include "tools/casync/codec/check/other_values.h"
#include "tools/casync/codec/check/properties.h"

namespace casync::tools {
namespace {

using compll::Codec;

enum class Fault {
  kNone,
  kByte,         ///< one byte of larger payloads is not the interpreter's
  kOutside,      ///< writes a byte after the payload
  kUnlike,       ///< each encoding has other bytes
  kHidesNaN,     ///< everything is said to be finite
  kAddsTwice,    ///< decode_add
  kMerge,        ///< the last term is left out
  kTakesAll,     ///< check refuses nothing
  kResidual,     ///< half of the residual is lost
  kExpands,      ///< decoded elements are three times too large
  kDecodesPast,  ///< decode writes after its output
  kMergeState,   ///< half of what a merge leaves over is lost
};

/// int8, but for one fault.
class Faulty final : public Codec {
 public:
  explicit Faulty(Fault fault) : fault_(fault), inner_(compll::codec_of("int8", {{"block", 64}})) {}

  const compll::CodecInfo& info() const override { return inner_->info(); }
  void prepare_thread() const override { inner_->prepare_thread(); }
  Bytes encoded_bound(Elements n) const override { return inner_->encoded_bound(n); }

  compll::Encoded encode(const float* in, Elements n, compll::Residual residual, const compll::EncodeContext& context,
                         std::byte* payload) const override {
    compll::Encoded encoded = inner_->encode(in, n, residual, context, payload);
    if (fault_ == Fault::kByte && n > 32) payload[encoded.size - 1] ^= std::byte{1};
    if (fault_ == Fault::kOutside) payload[encoded.size] = std::byte{0};
    if (fault_ == Fault::kUnlike && n > 0) payload[encoded.size - 1] ^= std::byte(count_++ & 1);
    if (fault_ == Fault::kHidesNaN) encoded.finite = true;
    for (Elements i = 0; i < n && fault_ == Fault::kResidual; ++i) residual.out[i] *= 0.5f;
    return encoded;
  }
  compll::Encoded encode_sum(const float* sum, float scale, Elements n, compll::Residual residual,
                             const compll::EncodeContext& context, std::byte* payload) const override {
    return inner_->encode_sum(sum, scale, n, residual, context, payload);
  }
  Status check(ConstView payload, Elements n) const override {
    return fault_ == Fault::kTakesAll ? Status::ok() : inner_->check(payload, n);
  }
  void decode(ConstView payload, Elements n, float* out) const override {
    inner_->decode(payload, n, out);
    for (Elements i = 0; i < n && fault_ == Fault::kExpands; ++i) out[i] *= 3;
    if (fault_ == Fault::kDecodesPast && n > 100) out[n] = 0;
  }
  void decode_add(ConstView payload, Elements n, float* out) const override {
    inner_->decode_add(payload, n, out);
    if (fault_ == Fault::kAddsTwice) inner_->decode_add(payload, n, out);
  }
  compll::Encoded merge(std::span<const compll::Contribution> terms, Elements n, float scale, const Codec&,
                        compll::Residual residual, const compll::EncodeContext& context,
                        std::byte* payload) const override {
    if (fault_ == Fault::kMerge) terms = terms.first(terms.size() - 1);
    const compll::Encoded merged = inner_->merge(terms, n, scale, *inner_, residual, context, payload);
    for (Elements i = 0; i < n && fault_ == Fault::kMergeState && residual.out != nullptr; ++i) residual.out[i] *= 0.5f;
    return merged;
  }

 private:
  Fault fault_;
  std::unique_ptr<Codec> inner_;
  mutable unsigned count_ = 0;
};

std::string failures(const Checked& checked) {
  std::string all;
  for (const Verdict& verdict : check_properties(checked)) {
    if (verdict.state == Verdict::State::kFails) all += verdict.property + ": " + verdict.detail + "\n";
  }
  return all;
}

std::string failures(Fault fault) {
  const std::unique_ptr<Codec> meaning = compll::from_source("int8", {{"block", 64}}).codec;
  return failures({.codec = Faulty(fault), .meaning = meaning.get(), .contractive = true});
}

/// The failures of a program from a file, compiled and compared with the interpreter.
std::string failures_of_compiled(const std::string& text) {
  const compll::Source source("mine.cll", text);
  const auto read = compll::read_program(source, {});
  if (!read) return read.status().text();
  const auto made = compll::compiled(read->codec);
  if (!made) return made.status().text();
  const auto codec = compll::make_generated_codec(*made->codec, {}, read->program->declares.digest);
  const auto meaning = compll::make_program_codec(read->program);
  return failures({.codec = **codec, .meaning = meaning->get()});
}

}  // namespace

TEST_CASE("codec check: codecs that are compiled with the library keep what their programs promise") {
  for (const compll::GeneratedCodec* generated : compll::written_codecs()) {
    const std::string name = generated->declares.name;
    const compll::Written written = compll::from_source(name);
    const Result<std::unique_ptr<Codec>> codec = compll::make_generated_codec(*generated);
    REQUIRE(codec.status().text() == "OK");
    INFO(name);
    CHECK(failures({.codec = **codec,
                    .meaning = written.codec.get(),
                    .contractive = written.program->declares.contractive,
                    .unbiased = written.program->declares.unbiased}) == "");
  }
}

TEST_CASE("codec check: each fault breaks a property, which is named with the gradient that breaks it") {
  CHECK(failures(Fault::kNone) == "");
  const std::pair<Fault, const char*> faults[] = {
      {Fault::kByte, "the bytes are the interpreter's: zeros, 33 elements: byte "},
      {Fault::kOutside, "encode writes outside of its memory"},
      {Fault::kUnlike, "the same input gives the same bytes: zeros, 1 element: "},
      {Fault::kHidesNaN, "NaN, 1 element: it is said to be finite"},
      {Fault::kAddsTwice, "decode_add adds what decode gives: "},
      {Fault::kMerge, "merge is decode, add, encode: "},
      {Fault::kTakesAll, "a payload with a byte too many is taken"},
      {Fault::kResidual, "feedback: decoded and residual are together the input: "},
      {Fault::kExpands, "contractive: ||D(E(x)) - x|| < ||x||: equal elements, 1 element: "},
      {Fault::kDecodesPast, "writes outside of its memory"},
      {Fault::kMergeState, "the bytes are the interpreter's: gaussian, 2 elements: in step 3 state of merge 0 is "},
  };
  for (const auto& [fault, text] : faults) {
    INFO(text);
    CHECK_THAT(failures(fault), Catch::Contains(text));
  }
}

namespace {

/// The codec of one program held against the meaning of another.
std::string differences(const std::string& is, const std::string& should) {
  const compll::Written codec = compll::from_text("is", is), meaning = compll::from_text("should", should);
  std::string all;
  for (const Verdict& verdict : check_properties({.codec = *codec.codec, .meaning = meaning.codec.get()})) {
    if (verdict.state == Verdict::State::kFails) all += verdict.property + ": " + verdict.detail + "\n";
  }
  return all;
}

/// A program that encodes the difference to what a rank has told the others. `merge` has statements about the sum.
std::string differing(const std::string& merge) {
  return R"(codec told { summary "the difference to the values told so far"; }
state float* told;
state float* unsent;
float* scales(float* x) {
  return map(block_reduce(x, 128, magnitude), [&](float t) -> float { return level_scale(t, 7); });
}
int4* levels(float* x, float* scale) {
  return map(x, spread(scale, 128), [&](float v, float s) -> int4 { return s > 0 ? round(v / s) : 0; });
}
float* values(int4* level, float* scale) {
  return map(level, spread(scale, 128), [&](int4 q, float s) -> float { return q * s; });
}
void encode(float* gradient, uint8* compressed) {
  float* rest = map(gradient, told, [&](float x, float t) -> float { return x - t; });
  float* scale = scales(rest);
  int4* level = levels(rest, scale);
  told = map(told, values(level, scale), [&](float t, float v) -> float { return t + 0.5 * v; });
  compressed = concat(scale, level);
}
void merge(float* sum, uint8* compressed) {
)" + merge +
         R"(
  compressed = concat(scale, level);
}
void result(float* decoded, float* gradient) {
  gradient = map(decoded, told, [&](float d, float t) -> float { return t + d; });
  told = map(decoded, told, [&](float d, float t) -> float { return t + 0.5 * d; });
}
void decode(uint8* compressed, float* gradient) {
  float* scale;
  int4* level;
  extract(compressed, scale, level);
  gradient = values(level, scale);
}
)";
}

const char* const kForgets = "float* scale = scales(sum);\nint4* level = levels(sum, scale);";
const char* const kRemembers =
    "float* all = map(sum, unsent, [&](float x, float u) -> float { return x + u; });\n"
    "float* scale = scales(all);\nint4* level = levels(all, scale);\n"
    "unsent = map(all, values(level, scale), [&](float x, float v) -> float { return x - v; });";

}  // namespace

TEST_CASE("codec check: states beyond the first, those of merge, results and their states are the interpreter's") {
  const std::string text = differing(kRemembers);
  CHECK(differences(text, text) == "");
  const std::pair<std::string, const char*> changes[] = {
      {compll::changed(text, "t + 0.5 * v", "t + 0.25 * v"), "state 0 is "},
      {compll::changed(text, "return x - v; });\n  compressed", "return x - 0.5 * v; });\n  compressed"),
       "state of merge "},
      {compll::changed(text, "return t + d;", "return t + d + 1;"), "result 0 is "},
      {compll::changed(text, "t + 0.5 * d", "t + 0.25 * d"), "state of result "},
  };
  for (const auto& [other, said] : changes) {
    INFO(said);
    CHECK_THAT(differences(other, text), Catch::Contains("the bytes are the interpreter's: ") && Catch::Contains(said));
  }
}

TEST_CASE("codec check: an error that stays in all later results is seen over the steps of 2 ranks") {
  CHECK_THAT(differences(differing(kForgets), differing(kForgets)),
             Catch::Contains("no error that grows: 2 ranks: after ") && Catch::Contains("stays in all later results"));
  CHECK(differences(differing(kRemembers), differing(kRemembers)) == "");
}

TEST_CASE("codec check: the largest elements of momentum, of which what was sent is not taken out, grow") {
  const char* const text = R"(codec heavy { summary "the largest elements of momentum"; }
state float* velocity;
state float* unsent;
void encode(float* gradient, uint8* compressed) {
  velocity = map(velocity, gradient, [&](float u, float x) -> float { return 0.9 * u + x; });
  float* all = map(unsent, velocity, [&](float v, float u) -> float { return v + u; });
  uint* place = largest(all, selected(0.05, all.size), absolute);
  unsent = scatter(place, 0, all);
  compressed = concat(place, gather(all, place));
}
void merge(float* sum, uint8* compressed) {
  uint* place = largest(sum, selected(0.05, sum.size), absolute);
  compressed = concat(place, gather(sum, place));
}
void decode(uint8* compressed, float* gradient) {
  uint* place;
  float* value;
  extract(compressed, place, value);
  gradient = scatter(place, value, gradient.size);
}
)";
  CHECK(differences(text, text) == "");
  const std::string kept = compll::changed(text, "unsent = scatter(place, 0, all);", "unsent = all;");
  CHECK_THAT(differences(kept, kept), Catch::Contains("no error that grows"));
}

TEST_CASE("codec check: statistics of blocks that are used and not sent are no fault") {
  for (const char* const block : {"128", "block"}) {
    const std::string text = std::string("param { uint block = 128 in {64, 128}; }\n") +
                             "void encode(float* g, uint8* c) {\n  float* top = block_reduce(g, " + block +
                             ", max);\n  c = concat(map(g, spread(top, " + block +
                             "), [&](float x, float t) -> float { return x - t; }));\n}\n"
                             "void decode(uint8* c, float* g) { float* y; extract(c, y); g = y; }\n";
    CHECK(failures_of_compiled(text) == "");
  }
}

TEST_CASE("codec check: NaN may have other bits than the interpreter's, in payloads and in what is decoded") {
  CHECK(failures_of_compiled(R"(
void encode(float* g, uint8* c) {
  float* y = map(g, [&](float x) -> float { return 0 - (x * 2 + 1); });
  float* z = map(g, [&](float x) -> float { return sqrt(x) - sqrt(x); });
  c = concat(y, z);
}
void decode(uint8* c, float* g) {
  float* y; float* z;
  extract(c, y, z);
  g = map(y, [&](float x) -> float { return (0 - x - 1) / 2; });
}
)") == "");
}

TEST_CASE("codec check: values of parameters other than those that are given") {
  const auto parameter = [](double least, double most, double step, bool real = false) {
    compll::ProgramParameter made;
    made.name = "p";
    made.type = real ? compll::kFloatType : compll::kUintType;
    made.least = least, made.most = most, made.step = step;
    return made;
  };
  using Values = std::vector<double>;
  CHECK(other_values(parameter(16, 65536, 16), 64) == Values{16, 48, 1024, 65536});
  CHECK(other_values(parameter(0, 1, 0, true), 0.5) == Values{0, 1});
  CHECK(other_values(parameter(0, 1, 0, true), 0.9) == Values{0, 0.5, 1});
  CHECK(other_values(parameter(-3.4e38, 3.4e38, 0, true), 0.5) == Values{0.25, 1});
  compll::ProgramParameter choice = parameter(3, 15, 0);
  choice.choices = {3, 7, 15};
  CHECK(other_values(choice, 7) == Values{3, 15});
  CHECK(has_range(choice));
  CHECK_FALSE(has_range(parameter(0, 4294967295.0, 0)));
  CHECK(other_values(parameter(0, 4294967295.0, 0), 2) == Values{1, 4});
  CHECK(difference_in_words({{"a", 1}, {"b", 2}}, {{"a", 1}, {"b", 3}}) == "b=3");
}

TEST_CASE("codec check: levels that are declared to lose nothing of a sum are noticed") {
  const std::string exact = compll::changed(compll::source_of("int8"), "  feedback;", "  feedback;\n  exact_merge;");
  const compll::Written written = compll::from_text("int8", exact);
  CHECK_THAT(failures({.codec = *written.codec}),
             Catch::Contains("exact_merge: encoding a sum again changes nothing: "));
}

TEST_CASE("codec check: a bias is noticed, be it along the gradient or along one direction") {
  const std::string source = compll::source_of("qsgd");
  for (const auto& [before, after] : {std::pair<const char*, const char*>{"random<uint>() >> 8", "0"},
                                      {"return level / most * s;", "return (level + 0.02) / most * s;"}}) {
    const compll::Written written = compll::from_text("qsgd", compll::changed(source, before, after));
    CHECK_THAT(failures({.codec = *written.codec, .unbiased = true}), Catch::Contains("unbiased: right on average"));
  }
}

}  // namespace casync::tools
