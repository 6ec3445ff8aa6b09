// SPDX-License-Identifier: Apache-2.0
//
// Code generated from a program that exchanges in rounds gives the interpreter's bytes, on every instruction set.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <map>

#include "compll/codec/rounds_generated.h"
#include "compll/codec/written.h"
#include "compll/codegen/explain.h"
#include "compll/lang/front_end.h"
#include "tests/compll/support/compare_info.h"
#include "tests/compll/support/inputs.h"
#include "tests/compll/support/instruction_sets.h"
#include "tests/compll/support/programs.h"
#include "tests/compll/support/round_ranks.h"

namespace casync::compll {

extern "C" const GeneratedCodec* generated_rounds();

namespace {

/// Everything that came out of some steps of two ranks.
std::vector<float> made_by(const RoundsCodec& codec, Elements rows, Elements columns, std::uint32_t seed) {
  const Elements n = rows * columns;
  RoundRanks ranks(codec, 2, rows, columns);
  std::vector<float> all;
  const auto keep = [&](const std::vector<float>& values) { all.insert(all.end(), values.begin(), values.end()); };
  for (std::uint32_t step = 0; step < 3; ++step) {
    for (const auto& result : ranks.step({gaussian(n, seed + step), laplace(n, seed + 10 + step)}, step, 0.5f)) {
      keep(result);
    }
    for (const auto& sum : ranks.exchanged()) keep(sum);
    keep(ranks.states(0));
    keep(ranks.states(1));
  }
  return all;
}

void check_same(const std::string& name, const std::string& text, const GeneratedCodec& generated,
                const Parameters& parameters, const std::vector<std::pair<Elements, Elements>>& shapes) {
  const auto meaning = rounds_from_text(name, text, parameters);
  const auto codec = make_generated_rounds(generated, parameters);
  REQUIRE(codec.status().text() == "OK");
  CHECK(test::info_difference(meaning->info(), (*codec)->info()) == "");
  for (const auto& [rows, columns] : shapes) {
    INFO(name << ", " << rows << " x " << columns);
    const RoundsShape expected = meaning->shape(rows, columns), shape = (*codec)->shape(rows, columns);
    CHECK(shape.exchanged == expected.exchanged);
    CHECK(shape.states == expected.states);
    const std::vector<float> made = made_by(*meaning, rows, columns, 5);
    for (const std::string& set : instruction_sets(name)) {
      const UseInstructionSet used(set);
      INFO(set);
      CHECK(same_bytes(made, made_by(**codec, rows, columns, 5)));
    }
  }
}

std::vector<std::pair<Elements, Elements>> many_shapes() {
  std::vector<std::pair<Elements, Elements>> shapes;
  for (const Elements rows : {0, 1, 2, 3, 15, 16, 17, 64, 100}) {
    for (const Elements columns : {0, 1, 2, 3, 15, 16, 17, 64, 100}) shapes.emplace_back(rows, columns);
  }
  return shapes;
}

}  // namespace

TEST_CASE("generated rounds: the bytes are the interpreter's, on every instruction set") {
  REQUIRE(!written_rounds().empty());
  const std::map<std::string, std::pair<std::string, std::vector<double>>> parameters = {
      {"powersgd", {"rank", {5, 1, 2, 4, 7}}},
      {"sketched_topk", {"block", {16, 4, 128}}},
      {"terngrad_shared", {"clip", {0, 2}}},
      {"topk_chunks", {"chunk", {16, 48, 64}}}};
  for (const GeneratedCodec* codec : written_rounds()) {
    const std::string name = codec->declares.name;
    const auto& [parameter, values] = parameters.at(name);
    for (const double value : values) {
      INFO(parameter << " " << value);
      check_same(name, source_of(name), *codec, {{parameter, value}}, many_shapes());
    }
    check_same(name, source_of(name), *codec, {{parameter, values[0]}},
               {{3, 1025}, {9, 2050}, {1, 5000}, {5000, 1}, {1030, 6}});
  }
}

TEST_CASE("generated rounds: every operator that can be compiled") {
  check_same("rounds", test_program("rounds"), *generated_rounds(), {}, many_shapes());
  check_same("rounds", test_program("rounds"), *generated_rounds(), {{"some", 3}}, {{2, 3}, {40, 1500}, {1, 4000}});
}

TEST_CASE("generated rounds: the result may lie where the gradient does, states may be nowhere") {
  const Elements rows = 9, columns = 21, n = rows * columns;
  for (const GeneratedCodec* codec : {written_rounds().front(), generated_rounds()}) {
    const auto made = make_generated_rounds(*codec);
    REQUIRE(made.status().text() == "OK");
    const RoundsShape shape = (*made)->shape(rows, columns);
    const std::uint32_t rounds = (*made)->info().rounds;
    const auto run = [&](bool in_place, bool states) {
      std::vector<float> gradient = gaussian(n, 3), out(n), zeros(shape.states), after(shape.states);
      std::vector<float> scratch(shape.scratch, std::numeric_limits<float>::quiet_NaN());
      std::vector<std::vector<float>> exchanged;
      std::vector<float*> places;
      for (const Elements size : shape.exchanged) exchanged.emplace_back(size);
      for (std::vector<float>& each : exchanged) places.push_back(each.data());
      for (std::uint32_t number = 0; number <= rounds; ++number) {
        float* const to = in_place ? gradient.data() : out.data();
        (*made)->turn({number, rows, columns, gradient.data(), places, states ? zeros.data() : nullptr,
                       states ? after.data() : nullptr, scratch.data(), number == rounds ? to : nullptr},
                      {1, 2, 3, 0});
      }
      return in_place ? gradient : out;
    };
    const std::vector<float> expected = run(false, true);
    CHECK(same_bytes(run(true, true), expected));
    CHECK(same_bytes(run(true, false), expected));
    CHECK(same_bytes(run(false, false), expected));
  }
}

TEST_CASE("generated rounds: elements that are not finite arrive as NaN, and are seen in the exchange") {
  const Elements rows = 20, columns = 33;
  const auto codec = make_generated_rounds(*written_rounds().front());
  REQUIRE(codec.status().text() == "OK");
  for (const float spoiled : {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    std::vector<std::vector<float>> gradients = {gaussian(rows * columns, 1), gaussian(rows * columns, 2)};
    gradients[0][400] = spoiled;
    RoundRanks ranks(**codec, 2, rows, columns);
    for (const std::vector<float>& given : ranks.step(gradients, 0, 0.5f)) {
      CHECK(std::all_of(given.begin(), given.end(), [](float x) { return std::isnan(x); }));
    }
    const std::vector<float>& sum = ranks.exchanged()[0];
    CHECK(!std::all_of(sum.begin(), sum.end(), [](float x) { return std::isfinite(x); }));
  }
}

TEST_CASE("generated rounds: no turn moves more than its algorithm needs") {
  const Source source("powersgd.cll", source_of("powersgd"));
  const Result<Program> program = compile(source);
  REQUIRE(program.status().text() == "OK");
  const Result<std::string> text = explanation(*program, source);
  REQUIRE(text.status().text() == "OK");
  CHECK(*text ==
        "2 exchanges, 28.00 bytes per element of the gradient\n"
        "turn 0: 1 pass, 12.00 bytes per element\n"
        "  reads 8.00, writes 4.00: its rows are multiplied\n"
        "turn 1: 1 pass, 4.00 bytes per element\n"
        "  reads 4.00, writes 0.00: its columns are multiplied\n"
        "turn 2: 2 passes, 12.00 bytes per element\n"
        "  reads 4.00, writes 4.00: `error`\n"
        "  reads 0.00, writes 4.00: the result\n"
        "on a GPU: turn 0: 1 launch of 3 stages, turn 1: 1 of 3, turn 2: 1\n");
}

TEST_CASE("generated rounds: by name") {
  CHECK(rounds_codec_names() ==
        std::vector<std::string>{"powersgd", "sketched_topk", "terngrad_shared", "topk_chunks"});
  CHECK(has_rounds("powersgd"));
  CHECK(!has_rounds("int4"));
  CHECK(make_rounds_codec("powersgd", Parameters{{"rank", 2}}).status().text() == "OK");
  CHECK(make_rounds_codec("powersgd", Parameters{{"rank", 0}}).status().message() ==
        "codec `powersgd`: parameter `rank` is 0, expected a whole number from 1 to 64");
  CHECK(make_rounds_codec("powersdg").status().message() ==
        "no codec that exchanges in rounds is called `powersdg` (did you mean `powersgd`?); there is powersgd, "
        "sketched_topk, terngrad_shared, topk_chunks");
  CHECK(make_codec("powersgd").status().message() ==
        "codec `powersgd` exchanges in rounds within a step, so it runs in a session and not by itself");
}

}  // namespace casync::compll
