// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/claim_book.h"

#include <catch2/catch.hpp>

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

using Names = std::vector<std::string>;

ClaimBook::Outcome claim(ClaimBook& book, Rank rank, const Names& names, const std::string& digest = "same") {
  std::vector<ClaimDigest> claims;
  for (const std::string& name : names) claims.push_back({name, digest});
  return book.claim(rank, claims);
}

}  // namespace

TEST_CASE("claim book: names that all ranks claim together are agreed together, in turn") {
  ClaimBook book(3);
  CHECK(claim(book, 2, {"b", "a"}).agreements.empty());
  CHECK(claim(book, 0, {"a", "b"}).agreements.empty());
  CHECK(book.missing("a") == std::vector<Rank>{1});
  const auto last = claim(book, 1, {"b", "a"});
  REQUIRE(last.agreements.size() == 1);
  CHECK(last.agreements[0].names == Names{"a", "b"});
  CHECK(last.agreements[0].in_turn);
  CHECK(book.missing("a").empty());
  claim(book, 0, {"c"});
  claim(book, 1, {"c"});
  CHECK(claim(book, 2, {"c"}).agreements.at(0).in_turn);
}

TEST_CASE("claim book: any order and grouping agrees, and ranks that group otherwise are out of turn for good") {
  ClaimBook book(2);
  claim(book, 0, {"a"});
  claim(book, 1, {"b"});
  auto outcome = claim(book, 0, {"b", "c"});
  REQUIRE(outcome.agreements.size() == 1);
  CHECK(outcome.agreements[0].names == Names{"b"});
  CHECK(!outcome.agreements[0].in_turn);
  outcome = claim(book, 1, {"a", "c"});
  REQUIRE(outcome.agreements.size() == 1);
  CHECK(outcome.agreements[0].names == Names{"a", "c"});
  claim(book, 0, {"d"});
  CHECK(!claim(book, 1, {"d"}).agreements.at(0).in_turn);
}

TEST_CASE("claim book: two digests are a dispute of the first name in which they differ") {
  ClaimBook book(3);
  claim(book, 1, {"b", "a", "c"});
  const auto outcome = claim(book, 2, {"c", "b"}, "other");
  REQUIRE(outcome.dispute.has_value());
  CHECK(outcome.dispute->name == "b");
  CHECK(outcome.dispute->one == 1);
  CHECK(outcome.dispute->other == 2);
}

TEST_CASE("claim book: a claim that is made twice is found, whether it is open or agreed") {
  ClaimBook book(2);
  CHECK(claim(book, 0, {"a", "a"}).repeated);
  CHECK(!claim(book, 0, {"a"}).repeated);
  CHECK(claim(book, 0, {"a"}).repeated);
  CHECK(!claim(book, 1, {"a"}).repeated);
  CHECK(claim(book, 1, {"a"}).repeated);
}

TEST_CASE("claim book: a name that is needed is known until it is agreed") {
  ClaimBook book(2);
  claim(book, 0, {"a"});
  CHECK(book.needed_from(1) == "");
  CHECK(book.need("a"));
  CHECK(!book.need("a"));  // told already
  CHECK(book.needed_from(1) == "a");
  CHECK(book.needed_from(0) == "");
  REQUIRE(book.refused_by(1, "a").has_value());
  CHECK(book.refused_by(1, "a")->other_has_nothing);
  CHECK(!book.refused_by(0, "a").has_value());
  claim(book, 1, {"a"});
  CHECK(book.needed_from(1) == "");
  CHECK(!book.refused_by(1, "a").has_value());
  CHECK(!book.need("a"));
}
