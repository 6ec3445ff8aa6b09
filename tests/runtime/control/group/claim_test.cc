// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <catch2/catch.hpp>
#include <mutex>

#include "tests/runtime/control/control_support.h"
#include "tests/support/logged.h"

using namespace casync;
using namespace casync::runtime;
using namespace casync::runtime::testing;
using Catch::Matchers::Contains;

namespace {

Claim claim_of(const std::string& name, const std::string& value) { return {name, {{name, value}}}; }

std::vector<Status> statuses(int ranks) { return std::vector<Status>(static_cast<std::size_t>(ranks)); }

}  // namespace

TEST_CASE("claim: ranks that claim alike agree") {
  Ranks group(4);
  auto results = statuses(4);
  group.each([&](Rank rank, Group& each) {
    results[static_cast<std::size_t>(rank)] = each.agree(claim_of("settings", "int8"), after(Seconds(10)));
  });
  for (const Status& result : results) CHECK(result.text() == "OK");
}

TEST_CASE("claim: a difference ends the job on every rank, with both ranks and both values") {
  Ranks group(4);
  auto results = statuses(4);
  const Rank odd = GENERATE(0, 2);
  group.each([&](Rank rank, Group& each) {
    results[static_cast<std::size_t>(rank)] =
        each.agree(claim_of("codec", rank == odd ? "int4" : "int8"), after(Seconds(10)));
  });
  const std::string text = "rank " + std::to_string(odd) + " has int4";
  for (const Status& result : results) {
    CHECK(result.code() == StatusCode::kInvalidArgument);
    CHECK_THAT(result.message(), Contains("codec: rank") && Contains(text) && Contains("has int8"));
  }
}

TEST_CASE("claim: a rank that does not claim in time is named on all") {
  Ranks group(3);
  auto results = statuses(3);
  const Rank late = GENERATE(0, 1);
  group.each([&](Rank rank, Group& each) {
    if (rank == late) return;
    results[static_cast<std::size_t>(rank)] = each.agree(claim_of("settings", "x"), after(Seconds(1)));
  });
  // The late rank waits for nothing itself, so the news may reach it after the others' agree() has returned.
  Group& idle = **group.joined[static_cast<std::size_t>(late)];
  for (const auto deadline = after(Seconds(10)); idle.failure().is_ok() && Clock::now() < deadline;) {
    std::this_thread::sleep_for(Seconds(0.001));
  }
  results[static_cast<std::size_t>(late)] = idle.failure();
  for (const Status& result : results) {
    CHECK(result.code() == StatusCode::kTimeout);
    CHECK_THAT(result.message(), Contains("\"settings\": rank " + std::to_string(late) + " did not come"));
  }
}

TEST_CASE("claim: in any order, every rank hears the same agreements in the same order") {
  constexpr int kRanks = 3;
  const std::vector<std::string> names = {"a", "b", "c", "d", "e"};
  Ranks group(kRanks);
  std::mutex mutex;
  std::vector<std::vector<std::string>> heard(kRanks);
  auto results = statuses(kRanks);
  group.each([&](Rank rank, Group& each) {
    each.watch_agreements([&, rank](const Agreement& agreement) {
      const std::lock_guard lock(mutex);
      auto& mine = heard[static_cast<std::size_t>(rank)];
      mine.insert(mine.end(), agreement.names.begin(), agreement.names.end());
    });
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::size_t turn = (i * static_cast<std::size_t>(rank + 1)) % names.size();
      each.claim({claim_of(names[turn], "value")});
    }
    results[static_cast<std::size_t>(rank)] = each.agree(claim_of("last", ""), after(Seconds(10)));
  });
  for (const Status& result : results) CHECK(result.text() == "OK");
  // A rank may hear of "last" only after its own agree() has returned.
  const auto all_heard = [&] {
    const std::lock_guard lock(mutex);
    return std::all_of(heard.begin(), heard.end(), [&](const auto& mine) { return mine.size() == names.size() + 1; });
  };
  for (const auto deadline = after(Seconds(10)); !all_heard() && Clock::now() < deadline;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  REQUIRE(all_heard());
  for (auto& mine : heard) std::erase(mine, "last");
  CHECK(heard[0].size() == names.size());
  for (const auto& mine : heard) CHECK(mine == heard[0]);
}

TEST_CASE("claim: a rank that lacks a name others need ends the job, and one that leaves does too") {
  Ranks group(2);
  const bool leaves = GENERATE(false, true);
  group.each([&](Rank rank, Group& each) {
    if (rank == 0) {
      each.claim({claim_of("gradient b", "float32 [3]")});
      each.need({"gradient b"}, 7);
      return;
    }
    if (leaves) {
      static_cast<void>(each.close(after(Seconds(5))));
      return;
    }
    each.watch_needs([&each](const std::string& name, std::uint32_t step) {
      if (step == 7) each.lack(name);
    });
    each.lack("gradient b");  // or rank 0 has not claimed it yet, and the watcher is asked
  });
  std::atomic<bool> failed = false;
  (*group.joined[0])->watch([&](const Status&) { failed = true; });
  const auto deadline = after(Seconds(10));
  while (!failed && Clock::now() < deadline) std::this_thread::sleep_for(Seconds(0.01));
  const Status failure = (*group.joined[0])->failure();
  if (leaves) {
    CHECK_THAT(failure.text(), Contains("PeerFailure") && Contains("rank 1") && Contains("\"gradient b\""));
  } else {
    CHECK(failure.text() ==
          "InvalidArgument: the ranks do not agree: gradient b: rank 0 has float32 [3], rank 1 has nothing");
  }
}

TEST_CASE("claim: ranks that wait long log for whom, in an agreement and in a collective call") {
  const Rank late = GENERATE(0, 1);
  const bool gathers = GENERATE(false, true);
  const test::Logged logged;
  Ranks group(3);
  auto results = statuses(3);
  const std::string name = gathers ? "places" : "settings";
  group.each([&](Rank rank, Group& each) {
    Status& result = results[static_cast<std::size_t>(rank)];
    const std::string said = ": \"" + name + "\": rank " + std::to_string(late) + " has not come yet";
    for (Rank other = 0; rank == late && other < 3; ++other) {
      if (other != late && !logged.wait_for("rank " + std::to_string(other) + said)) {
        result = internal_error("rank " + std::to_string(other) + " does not say who is late");
      }
    }
    const Status done = gathers ? each.all_gather(name, "", after(Seconds(60))).status()
                                : each.agree(claim_of(name, "x"), after(Seconds(60)));
    if (result) result = done;
  });
  for (const Status& result : results) CHECK(result.text() == "OK");
}

TEST_CASE("claim: a question about a name that nobody waits for has no answer") {
  const test::Logged logged;
  Ranks group(2);
  auto results = statuses(2);
  group.each([&](Rank rank, Group& each) {
    Status& result = results[static_cast<std::size_t>(rank)];
    result = each.agree(claim_of("settings", "x"), after(Seconds(10)));
    each.ask_who_is_late("gradient nowhere");
    if (result) result = each.agree(claim_of("end", "x"), after(Seconds(10)));  // an answer would come earlier
  });
  for (const Status& result : results) CHECK(result.text() == "OK");
  CHECK(logged.text().find("nowhere") == std::string::npos);
}

TEST_CASE("claim: a rank that closes while others stay says who has not left") {
  const test::Logged logged;
  std::vector<std::unique_ptr<Store>> stores;
  const TemporaryDirectory directory = TemporaryDirectory::in_memory();
  auto options = options_of_all(2, stores, [&] { return make_file_store(directory.path()); });
  for (GroupOptions& each : options) each.dead = Seconds(1);
  auto joined = join_all(options);
  for (const std::string& text : texts_of(joined)) REQUIRE(text == "");
  std::thread closing([&] { static_cast<void>((*joined[0])->close(after(Seconds(60)))); });
  CHECK(logged.wait_for("rank 0: \"closing\": rank 1 has not come yet"));
  CHECK((*joined[1])->close(after(Seconds(10))).text() == "OK");
  closing.join();
}
