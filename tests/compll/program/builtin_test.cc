// SPDX-License-Identifier: Apache-2.0
//
// The codecs that are written in the language give the bytes of those written by hand.
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>

#include "compll/interpreter/program_codec.h"
#include "compll/lang/front_end.h"
#include "tests/compll/support/inputs.h"
#include "tests/compll/support/run_codec.h"

namespace casync::compll {
namespace {

std::unique_ptr<Codec> from_source(const std::string& name,
                                   std::span<const std::pair<std::string, double>> parameters = {}) {
  const std::string path = std::string(CASYNC_CODECS) + "/" + name + ".cll";
  std::ifstream file(path);
  REQUIRE(file);
  const Source source(path, {std::istreambuf_iterator<char>(file), {}});
  Result<Program> program = compile(source);
  REQUIRE(program.status().text() == "OK");
  Result<std::unique_ptr<Codec>> codec = make_program_codec(std::make_shared<Program>(std::move(*program)), parameters);
  REQUIRE(codec.status().text() == "OK");
  return std::move(*codec);
}

struct Made {
  Coded coded;
  std::vector<float> given;
};

Made run(const Codec& codec, const std::vector<float>& values) {
  const std::vector<float> before(values.size(), 0.125f);
  Made made{encode(codec, values, before), {}};
  REQUIRE(codec.check(made.coded.view(), values.size()).text() == "OK");
  made.given = decode(codec, made.coded, values.size());
  return made;
}

void check_same(const Made& a, const Made& b) {
  CHECK(a.coded.payload == b.coded.payload);
  CHECK(a.coded.finite == b.coded.finite);
  CHECK((!a.coded.finite || same_bytes(a.coded.residual, b.coded.residual)));
  CHECK((!a.coded.finite || same_bytes(a.given, b.given)));
}

}  // namespace

TEST_CASE("program: int8 and int4 give the bytes of the codecs written by hand") {
  for (const char* name : {"int8", "int4"}) {
    for (const double block : {32.0, 128.0}) {
      const std::pair<std::string, double> parameters[] = {{"block", block}};
      const std::unique_ptr<Codec> program = from_source(name, parameters);
      const std::unique_ptr<Codec> hand = codec_of(name, {parameters[0]});
      for (const Elements n : {0, 1, 2, 31, 32, 33, 127, 128, 129, 300}) {
        for (const Input& input : inputs(n)) {
          INFO(name << ", block " << block << ", " << n << " elements, " << input.name);
          check_same(run(*program, input.values), run(*hand, input.values));
        }
      }
    }
  }
}

TEST_CASE("program: onebit stands for the means that the codec written by hand has") {
  const std::unique_ptr<Codec> program = from_source("onebit");
  const std::unique_ptr<Codec> hand = codec_of("onebit");
  for (const Elements n : {1, 63, 64, 2048, 2049, 5000}) {
    for (const Input& input : inputs(n)) {
      if (!input.finite) continue;
      INFO(n << " elements, " << input.name);
      const Made a = run(*program, input.values), b = run(*hand, input.values);
      for (Elements i = 0; i < n; ++i) CHECK(a.given[i] == Approx(b.given[i]).epsilon(1e-6));
    }
  }
}

}  // namespace casync::compll
