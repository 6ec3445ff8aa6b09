// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <catch2/catch.hpp>

#include "base/named_numbers.h"
#include "base/nearest.h"

namespace casync {

TEST_CASE("nearest: changes are counted as single edits and swaps, without regard to case") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("match", "match") == 0);
  CHECK(edit_distance("MATCH", "match") == 0);
  CHECK(edit_distance("macth", "match") == 1);
  CHECK(edit_distance("mach", "match") == 1);
  CHECK(edit_distance("kitten", "sitting") == 3);
}

TEST_CASE("nearest: a close word is found, a distant one is not offered") {
  constexpr std::array<std::string_view, 4> known = {"codec", "partitions", "partition_bytes", "priority"};
  CHECK(nearest("partitons", known) == "partitions");
  CHECK(nearest("codex", known) == "codec");
  CHECK(nearest("zzz", known).empty());
  CHECK(nearest("", known).empty());
  CHECK(nearest(std::string(1000, 'a'), known).empty());
  CHECK(hint("codex", known) == " (did you mean `codec`?)");
  CHECK(hint("zzz", known).empty());
}

TEST_CASE("nearest: of equally close words the first is taken") {
  constexpr std::array<std::string_view, 2> known = {"int4", "int8"};
  CHECK(nearest("int3", known) == "int4");
}

TEST_CASE("named numbers: a name alone, and one with numbers in their order") {
  CHECK(parse_named_numbers("int4")->name == "int4");
  CHECK(parse_named_numbers("int4")->numbers.empty());
  const Result<NamedNumbers> named = parse_named_numbers("int4:block=64,feedback=0,x=-1.5e-3");
  REQUIRE(named.status().text() == "OK");
  CHECK(named->name == "int4");
  CHECK(named->numbers == std::vector<std::pair<std::string, double>>{{"block", 64}, {"feedback", 0}, {"x", -1.5e-3}});
}

TEST_CASE("named numbers: what is none is refused with the part that is wrong") {
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
    CHECK(parse_named_numbers(text).status().text() ==
          "InvalidArgument: \"" + std::string(text) + "\": " + why + ", expected a form like int4:block=64,feedback=0");
  }
}

}  // namespace casync
