// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>
#include <latch>

#include "runtime/control/wire/frame.h"
#include "tests/runtime/control/control_support.h"

using namespace casync;
using namespace casync::runtime;
using namespace casync::runtime::testing;
using Catch::Matchers::Contains;

namespace {

std::string blob_of(Rank rank, std::size_t bytes) {
  std::string blob(bytes, '\0');
  for (std::size_t i = 0; i < bytes; ++i) blob[i] = static_cast<char>(i * 31 + static_cast<std::size_t>(rank) * 7);
  return blob;
}

using Gathered = Result<std::vector<std::string>>;

std::vector<Gathered> nothing(int ranks) {
  std::vector<Gathered> results;
  for (int i = 0; i < ranks; ++i) results.emplace_back(internal_error("not called"));
  return results;
}

}  // namespace

TEST_CASE("all_gather: every rank gets every blob by rank, of any size") {
  Ranks group(4);
  for (const Joined& each : group.joined) REQUIRE(each.is_ok());
  for (const std::size_t bytes : {0u, 1u, 100u, 4096u, 65537u, 1u << 20}) {
    auto results = nothing(4);
    group.each([&](Rank rank, Group& each) {
      const std::string blob = blob_of(rank, bytes + static_cast<std::size_t>(rank));
      results[static_cast<std::size_t>(rank)] = each.all_gather("blobs", blob, after(Seconds(10)));
    });
    for (const Gathered& result : results) {
      REQUIRE(result.status().text() == "OK");
      REQUIRE(result->size() == 4);
      for (Rank rank = 0; rank < 4; ++rank) {
        CHECK((*result)[static_cast<std::size_t>(rank)] == blob_of(rank, bytes + static_cast<std::size_t>(rank)));
      }
    }
  }
}

TEST_CASE("all_gather: one rank alone gets its own blob") {
  Ranks group(1);
  REQUIRE(group.joined[0].is_ok());
  auto result = (*group.joined[0])->all_gather("blobs", "mine", after(Seconds(5)));
  REQUIRE(result.is_ok());
  CHECK(*result == std::vector<std::string>{"mine"});
}

TEST_CASE("all_gather: ranks that do different things are told both names, and can go on") {
  Ranks group(3);
  auto results = nothing(3);
  auto again = nothing(3);
  group.each([&](Rank rank, Group& each) {
    const auto place = static_cast<std::size_t>(rank);
    results[place] = each.all_gather(rank == 2 ? "statistics" : "plans", "x", after(Seconds(10)));
    again[place] = each.all_gather("plans", "y", after(Seconds(10)));
  });
  for (const Gathered& result : results) {
    CHECK(result.status().code() == StatusCode::kInvalidArgument);
    CHECK_THAT(result.status().message(), Contains("\"statistics\" on rank 2"));
    CHECK_THAT(result.status().message(), Contains("\"plans\" on rank"));
  }
  for (const Gathered& result : again) CHECK(result.status().text() == "OK");
}

TEST_CASE("all_gather: a rank that does not call is named on all that did, and when it calls, on it too") {
  Ranks group(3);
  const Rank late = GENERATE(0, 1);
  auto results = nothing(3);
  auto again = nothing(3);
  std::latch others_told(2);
  group.each([&](Rank rank, Group& each) {
    const auto place = static_cast<std::size_t>(rank);
    if (rank == late) others_told.wait();
    results[place] = each.all_gather("weights", "x", after(Seconds(rank == late ? 10 : 1)));
    if (rank != late) others_told.count_down();
    again[place] = each.all_gather("weights", "y", after(Seconds(10)));
  });
  for (const Gathered& result : results) {
    CHECK(result.status().code() == StatusCode::kTimeout);
    CHECK_THAT(result.status().message(), Contains("\"weights\"") && Contains("rank " + std::to_string(late) + " did"));
  }
  for (const Gathered& result : again) CHECK(result.status().text() == "OK");
}

TEST_CASE("all_gather: a blob above the limit is refused ahead of all moving") {
  Ranks group(2);
  const std::string large(kMostBlobBytes + 1, 'x');
  const Status status = (*group.joined[1])->all_gather("large", large, after(Seconds(5))).status();
  CHECK(status.code() == StatusCode::kInvalidArgument);
  CHECK_THAT(status.message(), Contains("67108865"));
  CHECK((*group.joined[0])->failure().is_ok());
}
