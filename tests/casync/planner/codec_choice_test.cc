// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "casync/model/codec_choice.h"

namespace casync {

TEST_CASE("codec choice: a name alone, and one with numbers in their order") {
  CHECK(parse_codec_choice("int4")->name == "int4");
  CHECK(parse_codec_choice("int4")->parameters.empty());
  const Result<CodecChoice> choice = parse_codec_choice("int4:block=64,feedback=0,x=-1.5e-3");
  REQUIRE(choice.status().text() == "OK");
  CHECK(choice->name == "int4");
  CHECK(choice->parameters ==
        std::vector<std::pair<std::string, double>>{{"block", 64}, {"feedback", 0}, {"x", -1.5e-3}});
}

TEST_CASE("codec choice: its text reads as the same choice") {
  for (const char* text : {"int4", "int4:block=64,feedback=0", "x:a=0.1,b=-1.5e-07,c=1e+300", "mine.cll:block=64"}) {
    const Result<CodecChoice> choice = parse_codec_choice(text);
    REQUIRE(choice.status().text() == "OK");
    CHECK(text_of(*choice) == text);
  }
}

TEST_CASE("codec choice: a path may have colons in its folders, and parameters behind it") {
  CHECK(parse_codec_choice("/far:off/mine.cll")->name == "/far:off/mine.cll");
  const Result<CodecChoice> choice = parse_codec_choice("/far:off/mine.cll:ratio=0.01");
  REQUIRE(choice.status().text() == "OK");
  CHECK(choice->name == "/far:off/mine.cll");
  CHECK(choice->parameters == std::vector<std::pair<std::string, double>>{{"ratio", 0.01}});
}

TEST_CASE("codec choice: other words are refused with the part that is wrong") {
  const std::pair<const char*, const char*> wrong[] = {{"", "no name"},
                                                       {":block=1", "no name"},
                                                       {"int4:", "`` is no key=number"},
                                                       {"int4:block", "`block` is no key=number"},
                                                       {"int4:=4", "`=4` is no key=number"},
                                                       {"int4:block=", "`` is no number"},
                                                       {"int4:block=64x", "`64x` is no number"},
                                                       {"int4:block=nan", "`nan` is no number"},
                                                       {"int4:block=64,", "`` is no key=number"},
                                                       {"int4:block=64,block=32", "`block` twice"}};
  for (const auto& [text, why] : wrong) {
    CAPTURE(text);
    CHECK(parse_codec_choice(text).status().text() ==
          "InvalidArgument: \"" + std::string(text) + "\": " + why + ", expected a form like int4:block=64,feedback=0");
  }
}

// Work that grew by their square would take longer than the test may.
TEST_CASE("codec choice: a million keys are read in one walk through them") {
  std::string text = "int4:";
  for (int i = 0; i < 1'000'000; ++i) text += "p" + std::to_string(i) + "=1,";
  CHECK(parse_codec_choice(text + "q=1")->parameters.size() == 1'000'001);
  CHECK_THAT(parse_codec_choice(text + "p7=1").status().message(), Catch::Contains("`p7` twice"));
}

}  // namespace casync
