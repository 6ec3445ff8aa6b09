// SPDX-License-Identifier: Apache-2.0
//
// The k-th largest element: in generated text it is the interpreter's, on every instruction set; other uses of it are
// refused.
#include <catch2/catch.hpp>

#include "compll/codec/generated_codec.h"
#include "compll/lang/front_end.h"
#include "tests/compll/program/pair.h"
#include "tests/compll/program/said.h"
#include "tests/compll/support/inputs.h"
#include "tests/compll/support/instruction_sets.h"
#include "tests/compll/support/programs.h"
#include "tests/compll/support/run_codec.h"

namespace casync::compll {

extern "C" const GeneratedCodec* generated_kth();

namespace {

std::vector<std::byte> merged(const Codec& codec, const std::vector<float>& values) {
  std::vector<std::byte> payload(codec.encoded_bound(values.size()));
  const Contribution terms[] = {{{}, values.data()}, {{}, values.data()}};
  codec.merge(terms, values.size(), 0.5f, codec, {}, {3, 4, 5, 0}, payload.data());
  return payload;
}

/// Encodes and merges these vectors with both.
void check_same(const Pair& pair, const std::vector<std::vector<float>>& all) {
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Coded expected = encode(*pair.meaning, all[i]);
    const std::vector<std::byte> sum = merged(*pair.meaning, all[i]);
    for (const std::string& set : instruction_sets(pair.generated->info().name)) {
      const UseInstructionSet used(set);
      INFO(set << ", " << all[i].size() << " elements, input " << i);
      const Coded made = encode(*pair.generated, all[i]);
      CHECK(made.payload == expected.payload);
      CHECK(same_bytes(made.residual, expected.residual));
      CHECK(merged(*pair.generated, all[i]) == sum);
    }
  }
}

}  // namespace

TEST_CASE("kth largest: the bytes are the interpreter's for any size, for none and for more than there are") {
  for (const double k : {0, 1, 3, 16, 300, 1000000}) {
    for (const double part : {1, 3, 1000}) {
      INFO("k " << k << ", one of " << part);
      const Pair pair = pair_of(*generated_kth(), {{"k", k}, {"part", part}});
      for (const Elements n : {0, 1, 2, 3, 15, 16, 17, 300}) {
        std::vector<std::vector<float>> all;
        for (Input& input : inputs(n)) all.push_back(std::move(input.values));
        check_same(pair, all);
      }
    }
  }
}

TEST_CASE("kth largest: the bytes are the interpreter's for so many elements that a sample says which are looked at") {
  constexpr Elements kMany = 32801;
  std::vector<float> outliers(kMany, 0.5f), few(kMany, 0.0f), rising(kMany);
  for (Elements i = 5; i < kMany; i += 137) outliers[i] = static_cast<float>(i);  // most of them between samples
  for (Elements i = 0; i < 40; ++i) few[i * 811 + 9] = -1.0f - static_cast<float>(i % 3);
  for (Elements i = 0; i < kMany; ++i) rising[i] = static_cast<float>(i) - 100;
  for (const auto& [k, part] : {std::pair(0, 1), {1, 3}, {40, 1000}, {290, 100}, {41000, 1}}) {
    INFO("k " << k << ", one of " << part);
    check_same(pair_of(*generated_kth(), {{"k", k}, {"part", part}}),
               {laplace(kMany, 1), outliers, few, rising, std::vector<float>(kMany, 1.0f)});
  }
}

TEST_CASE("kth largest: arrays without an order, or a k that is not whole, are refused") {
  const auto in_encode = [](const std::string& text) {
    return "void encode(float* g, uint8* compressed) {\n" + text +
           "\ncompressed = concat(g);\n}\n"
           "void decode(uint8* compressed, float* gradient) { extract(compressed, gradient); }\n";
  };
  const Refused all[] = {
      {"float t = kth_largest(g);", "2:11: `kth_largest` with 1 arguments"},
      {"float t = kth_largest(g, 3, absolute, 1);", "2:11: `kth_largest` with 4 arguments"},
      {"float t = kth_largest(g[0], 3);", "2:23: `kth_largest` needs an array, this is one element"},
      {"float t = kth_largest(g, 0.01);", "2:26: the k of `kth_largest` is an integer, this is float"},
      {"float t = kth_largest(g, g[0] > 1);", "2:26: the k of `kth_largest` is an integer, this is bool"},
      {"float t = kth_largest(g, g);", "2:26: the k of `kth_largest` works on one element, this is an array"},
      {"float t = kth_largest(g, 3, magnitude);", "2:29: `kth_largest` needs a function here"},
      {"float t = kth_largest(g, 3, [&](float x) -> bool { return x > 0; });", "2:29: `kth_largest` of bools"},
      {"double t = kth_largest(g, 3, [&](float x) -> double { return x; });", "2:30: `kth_largest` of doubles"},
      {"float t = kth_largest(g, 3, [&](float x) -> (float, float) { return (x, x); });",
       "2:29: `kth_largest` needs a function with one result"},
      {"float* t = kth_largest(g, 3);", "2:12: `t` is an array, this is one element"},
      {"float t = kth_largset(g, 3);", "2:11: there is no function `kth_largset` (did you mean `kth_largest`?)"},
      {"uint* p = where(g, 3, [&](float x) -> bool { return x > kth_largest(g, 2); });",
       "2:57: `kth_largest` in a function that is applied to elements"},
      {"uint* p = largest(g, kth_largest(range(g.size), 2));", "2:22: `largest` of a size that depends on elements"},
  };
  for (const Refused& each : all) CHECK(first_said(in_encode(each.source)) == each.said);
  const Source source("x.cll", in_encode("float tau = kth_largest(g, 0.01, absolute);"));
  CHECK(compile(source).status().message().find(
            "x.cll:2:28: error: the k of `kth_largest` is an integer, this is float\n"
            " 2 | float tau = kth_largest(g, 0.01, absolute);\n"
            "   |                            ^~~~\n"
            "   = hint: a share of an array's elements is `selected(ratio, x.size)`") == 0);
}

}  // namespace casync::compll
