// SPDX-License-Identifier: Apache-2.0
//
// Text in vector form of programs that no codec of ours is like gives the bytes of the interpreter, on every
// instruction set.
#include <catch2/catch.hpp>
#include <cmath>
#include <string>

#include "compll/codec/generated_codec.h"
#include "tests/compll/support/inputs.h"
#include "tests/compll/support/instruction_sets.h"
#include "tests/compll/support/programs.h"
#include "tests/compll/support/run_codec.h"

namespace casync::compll {

extern "C" const GeneratedCodec* generated_block_arrays();
extern "C" const GeneratedCodec* generated_block_results();
extern "C" const GeneratedCodec* generated_changed_copies();
extern "C" const GeneratedCodec* generated_published_dgc();
extern "C" const GeneratedCodec* generated_published_graddrop();
extern "C" const GeneratedCodec* generated_repeated_places();
extern "C" const GeneratedCodec* generated_selected();
extern "C" const GeneratedCodec* generated_vector_form();

namespace {

struct Outcome {
  Coded coded, merged;
  std::vector<float> decoded, result;
};

Outcome outcome_of(const Codec& codec, const std::vector<float>& values) {
  const Elements n = values.size(), states = codec.info().states;
  const std::vector<float> before = laplace(states * n, 7);
  Outcome made;
  made.coded = encode(codec, values, before);
  CHECK(codec.check(made.coded.view(), n).text() == "OK");
  made.decoded = decode(codec, made.coded, n);
  made.merged = made.coded;
  made.merged.payload.resize(codec.encoded_bound(n));
  const Contribution terms[] = {{made.coded.view(), nullptr}, {{}, values.data()}};
  const Encoded merged = codec.merge(terms, n, 0.5f, codec, {before.data(), made.merged.residual.data(), n},
                                     {3, 4, 5, 0}, made.merged.payload.data());
  made.merged.payload.resize(merged.size);
  made.merged.finite = merged.finite;
  if (!codec.info().has_result) return made;
  std::vector<float> after(states * n);
  made.result.resize(n);
  codec.result(made.decoded.data(), n, {before.data(), after.data(), n}, {}, made.result.data());
  made.result.insert(made.result.end(), after.begin(), after.end());
  return made;
}

/// Checks that generated text computes what the interpreter does, on all instruction sets.
void check_same(const Codec& generated, const Codec& meaning, const std::string& text) {
  for (const Elements n : {1, 15, 16, 17, 63, 129, 4097, 20011}) {
    for (const std::vector<float>& values : {gaussian(n, 3), laplace(n, 4), std::vector<float>(n, -0.0f)}) {
      const Outcome expected = outcome_of(meaning, values);
      REQUIRE((expected.coded.finite && expected.merged.finite));
      for (const std::string& set : instruction_sets(generated.info().name)) {
        const UseInstructionSet used(set);
        INFO(text << ", " << set << ", " << n << " elements");
        const Outcome made = outcome_of(generated, values);
        CHECK((made.coded.finite && made.merged.finite));
        CHECK(made.coded.payload == expected.coded.payload);
        CHECK(same_bytes(made.coded.residual, expected.coded.residual));
        CHECK(same_bytes(made.decoded, expected.decoded));
        CHECK(made.merged.payload == expected.merged.payload);
        CHECK(same_bytes(made.merged.residual, expected.merged.residual));
        CHECK(same_bytes(made.result, expected.result));
      }
    }
  }
}

}  // namespace

TEST_CASE("vector form: doubles, picked elements, two sizes of blocks, several results, states and a result") {
  const std::string text = test_program("vector_form");
  for (const double small : {16.0, 24.0, 64.0}) {
    const Parameters parameters = {{"small", small}};
    const std::unique_ptr<Codec> meaning = from_text("vector_form", text, parameters).codec;
    const Result<std::unique_ptr<Codec>> generated = make_generated_codec(*generated_vector_form(), parameters);
    REQUIRE(generated.status().text() == "OK");
    check_same(**generated, *meaning, "blocks of " + std::to_string(static_cast<int>(small)));
  }
}

TEST_CASE("vector form: operators on all blocks' values, and rotations of arrays that have not n elements") {
  const std::string text = test_program("block_arrays");
  for (const double block : {16.0, 48.0, 1000.0}) {
    const Parameters parameters = {{"block", block}};
    const std::unique_ptr<Codec> meaning = from_text("block_arrays", text, parameters).codec;
    const Result<std::unique_ptr<Codec>> generated = make_generated_codec(*generated_block_arrays(), parameters);
    REQUIRE(generated.status().text() == "OK");
    check_same(**generated, *meaning, "blocks of " + std::to_string(static_cast<int>(block)));
  }
}

TEST_CASE("vector form: elements that are picked from an array are those from ahead of a scatter into it") {
  const std::unique_ptr<Codec> meaning = from_text("changed_copies", test_program("changed_copies")).codec;
  const Result<std::unique_ptr<Codec>> generated = make_generated_codec(*generated_changed_copies());
  REQUIRE(generated.status().text() == "OK");
  check_same(**generated, *meaning, "changed_copies");
}

TEST_CASE("vector form: several results for each block, computed in the loop that has the blocks' statistics") {
  const std::unique_ptr<Codec> meaning = from_text("block_results", test_program("block_results")).codec;
  const Result<std::unique_ptr<Codec>> generated = make_generated_codec(*generated_block_results());
  REQUIRE(generated.status().text() == "OK");
  check_same(**generated, *meaning, "block_results");
}

TEST_CASE("vector form: selections of as many elements as a condition holds for") {
  const std::pair<const char*, const GeneratedCodec*> all[] = {
      {"selected", generated_selected()},
      {"published_dgc", generated_published_dgc()},
      {"published_graddrop", generated_published_graddrop()},
  };
  for (const auto& [name, text] : all) {
    const std::unique_ptr<Codec> meaning = from_text(name, test_program(name)).codec;
    const Result<std::unique_ptr<Codec>> generated = make_generated_codec(*text, {});
    REQUIRE(generated.status().text() == "OK");
    check_same(**generated, *meaning, name);
  }
}

TEST_CASE("vector form: the last value for a place counts, also where it is added or left out") {
  const std::unique_ptr<Codec> meaning = from_text("repeated_places", test_program("repeated_places")).codec;
  const Result<std::unique_ptr<Codec>> generated = make_generated_codec(*generated_repeated_places());
  REQUIRE(generated.status().text() == "OK");
  for (const Elements n : {1, 5, 64, 65, 1000}) {
    const std::vector<float> values = gaussian(n, 3), before = gaussian(n, 4);
    const Coded expected = encode(*meaning, values, before);
    std::vector<float> sum = before;
    meaning->decode_add(expected.view(), n, sum.data());
    for (const std::string& set : instruction_sets("repeated_places")) {
      const UseInstructionSet used(set);
      INFO(set << ", " << n << " elements");
      const Coded made = encode(**generated, values, before);
      CHECK(made.payload == expected.payload);
      CHECK(same_bytes(made.residual, expected.residual));
      CHECK(same_bytes(decode(**generated, made, n), decode(*meaning, expected, n)));
      std::vector<float> added = before;
      (*generated)->decode_add(made.view(), n, added.data());
      CHECK(same_bytes(added, sum));
    }
  }
}

}  // namespace casync::compll
