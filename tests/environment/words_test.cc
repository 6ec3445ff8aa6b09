// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <catch2/catch.hpp>

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

TEST_CASE("nearest: the first of equally close words is taken") {
  constexpr std::array<std::string_view, 2> known = {"int4", "int8"};
  CHECK(nearest("int3", known) == "int4");
}

}  // namespace casync
