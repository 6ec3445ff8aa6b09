// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/claim_desk.h"

#include <catch2/catch.hpp>

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

using Lines = std::vector<std::string>;

/// A desk that writes down its events.
struct Desk {
  explicit Desk(int ranks)
      : claims(ranks, {.agreed =
                           [this](const Agreement& agreement) {
                             for (const std::string& name : agreement.names) seen.push_back("agreed " + name);
                           },
                       .missed =
                           [this](Rank by, const std::string& name, std::uint32_t step) {
                             seen.push_back("missed " + name + " by " + std::to_string(by) + " in step " +
                                            std::to_string(step));
                           },
                       .asked =
                           [this](Rank of, const std::string& name) {
                             seen.push_back("asked " + std::to_string(of) + " for " + name);
                           },
                       .failed = [this](const Status& cause) { seen.push_back(cause.text()); }}) {}

  Lines seen;
  ClaimDesk claims;
};

std::string digests(const std::string& name, const Facts& facts) {
  OwnClaims own;
  return encode_claims(own.keep({{name, facts}}));
}

const Facts kTen = {{"elements", "10"}}, kEleven = {{"elements", "11"}};

}  // namespace

TEST_CASE("claim desk: a name that all ranks claim alike is agreed, once") {
  Desk desk(2);
  desk.claims.claim({{"a", kTen}});
  CHECK(desk.seen.empty());
  CHECK(desk.claims.handle(1, FrameType::kClaim, digests("a", kTen)));
  CHECK(desk.seen == Lines{"agreed a"});
  CHECK(desk.claims.handle(1, FrameType::kClaim, digests("a", kTen)).code() == StatusCode::kDataLoss);
  CHECK(desk.seen.size() == 1);
}

TEST_CASE("claim desk: two digests are answered with the facts of both, and the first fact that differs") {
  Desk desk(3);
  CHECK(desk.claims.handle(2, FrameType::kClaim, digests("a", kEleven)));
  desk.claims.claim({{"a", kTen}});
  CHECK(desk.seen == Lines{"asked 2 for a"});
  CHECK(desk.claims.handle(1, FrameType::kTold, encode_told("a", kTen)));  // nobody asked it
  CHECK(desk.claims.handle(2, FrameType::kTold, encode_told("a", kEleven)));
  REQUIRE(desk.seen.size() == 2);
  CHECK_THAT(desk.seen[1], Catch::StartsWith("InvalidArgument: the ranks do not agree: ") && Catch::Contains("10") &&
                               Catch::Contains("11"));
}

TEST_CASE("claim desk: a rank that does not tell its facts ends the job with what is known") {
  Desk desk(3);
  CHECK(desk.claims.tend(Clock::now()) == Clock::time_point::max());
  CHECK(desk.claims.handle(1, FrameType::kClaim, digests("a", kEleven)));
  CHECK(desk.claims.handle(2, FrameType::kClaim, digests("a", kTen)));
  CHECK(desk.claims.handle(2, FrameType::kTold, encode_told("a", kTen)));
  REQUIRE(desk.seen == Lines{"asked 1 for a", "asked 2 for a"});
  const std::string known =
      "InvalidArgument: the ranks do not agree: rank 1 and rank 2 differ in \"a\", and rank 1 did not say its values";
  SECTION("at its limit, once") {
    const Clock::time_point due = desk.claims.tend(Clock::time_point::min());
    REQUIRE(due != Clock::time_point::max());
    REQUIRE(desk.seen.size() == 2);
    CHECK(desk.claims.tend(due) == Clock::time_point::max());
    CHECK(desk.seen.back() == known);
    desk.claims.tend(due);
    CHECK(desk.seen.size() == 3);
  }
  SECTION("when a rank has waited long enough") {
    CHECK(desk.claims.handle(2, FrameType::kGiveUp, encode_name("a")));
    REQUIRE(desk.seen.size() == 3);
    CHECK(desk.seen.back() == known);
  }
  SECTION("unless the job is over") {
    desk.claims.close();
    CHECK(desk.claims.tend(Clock::time_point::max()) == Clock::time_point::max());
    CHECK(desk.seen.size() == 2);
  }
}

TEST_CASE("claim desk: ranks that lack a needed name hear of it, and one that never claims it ends the job") {
  Desk desk(3);
  desk.claims.claim({{"a", kTen}});
  desk.claims.need({4, {"a"}});
  CHECK(desk.seen == Lines{"missed a by 1 in step 4", "missed a by 2 in step 4"});
  desk.claims.need({5, {"a"}});  // they know
  CHECK(desk.seen.size() == 2);
  CHECK(desk.claims.needed_from(2) == "a");
  CHECK(desk.claims.handle(2, FrameType::kLacks, encode_name("a")));
  REQUIRE(desk.seen.size() == 3);
  CHECK_THAT(desk.seen[2], Catch::StartsWith("InvalidArgument: the ranks do not agree: "));
}

TEST_CASE("claim desk: a rank that has waited long enough names those that did not come") {
  Desk desk(3);
  desk.claims.claim({{"a", kTen}});
  CHECK(desk.claims.handle(1, FrameType::kGiveUp, encode_name("a")));
  CHECK(desk.seen == Lines{"Timeout: \"a\": ranks 1, 2 did not come in time"});
}

TEST_CASE("claim desk: once the job is over, claims are not compared any more") {
  Desk desk(2);
  desk.claims.claim({{"a", kTen}});
  desk.claims.close();
  CHECK(desk.claims.handle(1, FrameType::kClaim, digests("a", kEleven)));
  desk.claims.need({1, {"a"}});
  CHECK(desk.seen.empty());
}
