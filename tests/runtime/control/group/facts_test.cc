// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/facts.h"

#include <catch2/catch.hpp>

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

TEST_CASE("facts: bytes give the same facts back, and only whole ones") {
  const Facts facts = {{"op", "average"}, {"", std::string("a\0b", 3)}, {"gradient a", ""}};
  const std::string bytes = encode_facts(facts);
  REQUIRE(decode_facts(bytes).is_ok());
  CHECK(*decode_facts(bytes) == facts);
  CHECK(decode_facts("")->empty());
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    const auto part = decode_facts(std::string_view(bytes).substr(0, size));
    CHECK((!part.is_ok() || part->size() < facts.size()));
  }
}

TEST_CASE("facts: digests tell apart what differs by where a text ends") {
  CHECK(digest_of({{"a", "bc"}}) != digest_of({{"ab", "c"}}));
  CHECK(digest_of({{"a", "b"}}) == digest_of({{"a", "b"}}));
}

TEST_CASE("facts: the first difference names the fact, both ranks and both values") {
  const Facts one = {{"a", "1"}, {"b", "2"}, {"c", "3"}};
  const auto difference = [&](const Facts& other) { return first_difference({0, one}, {2, other}); };
  CHECK(difference(one) == "");
  CHECK(difference({{"a", "1"}, {"b", "9"}, {"c", "8"}}) == "b: rank 0 has 2, rank 2 has 9");
  CHECK(difference({{"a", "1"}, {"b", "2"}}) == "c: rank 0 has 3, rank 2 has nothing");
  CHECK(difference({{"a", "1"}, {"c", "3"}}) == "b: rank 0 has 2, rank 2 has nothing");
  CHECK(difference({{"a", "1"}, {"ab", "7"}, {"b", "2"}, {"c", "3"}}) == "ab: rank 0 has nothing, rank 2 has 7");
  CHECK(difference({{"a", "1"}, {"ab", "7"}, {"b", "9"}, {"c", "3"}}) == "b: rank 0 has 2, rank 2 has 9");
  CHECK(first_difference({3, {}}, {5, one}) == "a: rank 3 has nothing, rank 5 has 1");
}
