// SPDX-License-Identifier: Apache-2.0
//
// Entries of sections: those that do not depend on the element are all written, and those of blocks are right in a
// merge whatever the size of a block is.
#include <catch2/catch.hpp>
#include <vector>

#include "compll/codec/generated_codec.h"
#include "compll/codec/written.h"
#include "tests/compll/random_programs/compare.h"
#include "tests/compll/support/instruction_sets.h"
#include "tests/compll/support/programs.h"

namespace casync::compll {

extern "C" const GeneratedCodec* generated_scattered_blocks();
extern "C" const GeneratedCodec* generated_uniform();

namespace {

std::string difference(const Written& written, const GeneratedCodec& codec, const Parameters& parameters,
                       std::uint64_t seed, Elements most) {
  const Result<std::unique_ptr<Codec>> generated = make_generated_codec(codec, parameters);
  if (!generated) return generated.status().text();
  std::vector<Elements> sizes = test::random_sizes(seed);
  std::erase_if(sizes, [&](Elements n) { return n > most; });
  return test::difference(*written.program, *written.codec, **generated, seed, sizes);
}

const GeneratedCodec& codec_called(const std::string& name) {
  for (const GeneratedCodec* codec : written_codecs()) {
    if (codec->declares.name == name) return *codec;
  }
  FAIL("no codec " + name);
  return *written_codecs().front();
}

}  // namespace

TEST_CASE("entries: sections that are the same for all elements or blocks are written whole") {
  REQUIRE(generated_uniform()->encode.tile != nullptr);
  for (const std::string& set : instruction_sets("uniform")) {
    const UseInstructionSet used(set);
    for (const double block : {16.0, 64.0, 4096.0}) {
      const Parameters parameters = {{"block", block}, {"k", 2}};
      const Written written = from_text("uniform", test_program("uniform"), parameters);
      for (std::uint64_t seed = 1; seed < 5; ++seed) {
        INFO(set << ", blocks of " << block);
        CHECK(difference(written, *generated_uniform(), parameters, seed, 5003) == "");
      }
    }
  }
}

TEST_CASE("entries: a merge has the statistics of blocks of any size, where decode scatters") {
  for (const double block : {1,   7,   10,   12,   16,   24,   48,   64,   96,   100,  120,  128,  200,
                             255, 333, 1000, 1024, 4000, 4095, 4096, 4097, 5000, 8192, 9000, 65536}) {
    const Parameters parameters = {{"block", block}};
    const Written written = from_text("scattered_blocks", test_program("scattered_blocks"), parameters);
    for (const std::uint64_t seed : {3, 4, 9}) {  // with 5003, 8192 and 5003 elements
      INFO("blocks of " << block);
      CHECK(difference(written, *generated_scattered_blocks(), parameters, seed, 9001) == "");
    }
  }
}

TEST_CASE("entries: merges of adacomp are encodings of the sum, for bins that do not divide 4096") {
  for (const double bin : {48, 80, 112, 176, 1008, 4080, 64}) {
    const Parameters parameters = {{"bin", bin}};
    const Written written = from_source("adacomp", parameters);
    for (const std::uint64_t seed : {3, 4, 5}) {
      INFO("bins of " << bin);
      CHECK(difference(written, codec_called("adacomp"), parameters, seed, 9001) == "");
    }
  }
}

}  // namespace casync::compll
