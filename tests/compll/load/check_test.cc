// SPDX-License-Identifier: Apache-2.0
//
// The suite of `casync codec check`: it passes codecs that keep what they promise, and notices each way not to.
#include <catch2/catch.hpp>
#include <cmath>

#include "compll/codec/generated_codec.h"
#include "compll/codec/written.h"
#include "tests/compll/support/programs.h"
#include "tests/compll/support/run_codec.h"
#include "tools/casync/check/properties.h"

namespace casync::tools {
namespace {

using compll::Codec;

enum class Fault {
  kNone,
  kByte,         ///< one byte of larger payloads is not the interpreter's
  kOutside,      ///< a byte behind the payload
  kUnlike,       ///< each encoding has other bytes
  kHidesNaN,     ///< everything is said to be finite
  kAddsTwice,    ///< decode_add
  kMerge,        ///< the last term is left out
  kTakesAll,     ///< check refuses nothing
  kResidual,     ///< half of the residual is lost
  kExpands,      ///< what is decoded is three times too large
  kDecodesPast,  ///< decode writes behind its output
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
    return inner_->merge(terms, n, scale, *inner_, residual, context, payload);
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
  };
  for (const auto& [fault, text] : faults) {
    INFO(text);
    CHECK_THAT(failures(fault), Catch::Contains(text));
  }
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
