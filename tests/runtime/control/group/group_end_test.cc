// SPDX-License-Identifier: Apache-2.0
// Ends of a group: failures, goodbyes, forks.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <thread>

#include "runtime/control/group/group.h"
#include "tests/runtime/control/control_support.h"
#include "tests/runtime/control/group/require_joined.h"

using namespace casync;
using namespace casync::runtime;
using namespace casync::runtime::testing;
using Catch::Matchers::Contains;

TEST_CASE("group: a failure that one rank reports names the rank and its machine") {
  Ranks group(2);
  (*group.joined[1])->abort(unavailable("no more memory"));
  for (const Joined& each : group.joined) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while ((*each)->failure() && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    CHECK_THAT((*each)->failure().text(), Contains("Unavailable: rank 1 (") && Contains("no more memory"));
  }
}

TEST_CASE("group: a cause given to abort() reaches every rank with the name of the one that gave it, once") {
  Ranks group(3);
  require_joined(group.joined);
  const Rank culprit = GENERATE(0, 2);
  std::atomic<int> calls = 0;
  group.each([&](Rank, Group& each) { each.watch([&](const Status&) { ++calls; }); });
  (*group.joined[static_cast<std::size_t>(culprit)])->abort(data_loss("gradient fc1 is damaged"));
  std::vector<Status> seen(3);
  group.each([&](Rank rank, Group& each) {
    seen[static_cast<std::size_t>(rank)] = each.all_gather("after", "", after(Seconds(5))).status();
  });
  const std::string who = "DataLoss: rank " + std::to_string(culprit) + " (";
  const auto is_the_cause = [&](const std::string& text) {
    return text.starts_with(who) && text.ends_with("): gradient fc1 is damaged");
  };
  for (const Status& status : seen) {
    INFO(status.text());
    CHECK(is_the_cause(status.text()));
  }
  group.each([&](Rank, Group& each) { each.abort(aborted("too late")); });
  for (const Joined& each : group.joined) CHECK((*each)->failure().code() == StatusCode::kDataLoss);
  std::promise<std::string> late;
  (*group.joined[1])->watch([&](const Status& cause) { late.set_value(cause.text()); });
  CHECK(is_the_cause(late.get_future().get()));
  group.joined.clear();  // ends the threads that count
  CHECK(calls == 3);
}

TEST_CASE("group: when two ranks abort at once, all report one and the same cause") {
  Ranks group(4);
  require_joined(group.joined);
  std::vector<std::string> seen(4);
  group.each([&](Rank rank, Group& each) {
    each.abort(aborted("rank " + std::to_string(rank) + " has had enough"));
    seen[static_cast<std::size_t>(rank)] = each.failure().text();
  });
  CHECK_THAT(seen[0], Contains("has had enough"));
  for (const std::string& text : seen) CHECK(text == seen[0]);
}

TEST_CASE("group: leaving without waiting is a goodbye, which the others hear of") {
  Ranks group(3);
  require_joined(group.joined);
  std::promise<Rank> left;
  (*group.joined[0])->watch_leavers([&](Rank rank, const LastWords&) { left.set_value(rank); });
  group.joined[2] = internal_error("gone");
  CHECK(left.get_future().get() == 2);
  std::promise<Rank> told_later;
  (*group.joined[1])->watch_leavers([&](Rank rank, const LastWords&) { told_later.set_value(rank); });
  CHECK(told_later.get_future().get() == 2);
  CHECK((*group.joined[0])->failure().is_ok());
  const Status late = (*group.joined[1])->all_gather("weights", "", after(Seconds(5))).status();
  CHECK(late.code() == StatusCode::kPeerFailure);
  CHECK_THAT(late.message(), Contains("rank 2") && Contains("closed its session") && Contains("weights"));
}

TEST_CASE("group: last words reach the others with the goodbye, whoever says it") {
  Ranks group(3);
  require_joined(group.joined);
  for (const Rank leaver : {2, 0}) {
    Group& waiting = **group.joined[1];
    std::promise<std::string> heard;
    waiting.watch_leavers([&, leaver](Rank rank, const LastWords& said) {
      if (rank == leaver) heard.set_value(said.to_all);
    });
    const std::string words = "rank " + std::to_string(leaver) + std::string(100'000, '.');
    static_cast<void>((*group.joined[static_cast<std::size_t>(leaver)])->close(after(Seconds(0.1)), {words}));
    CHECK(heard.get_future().get() == words);
  }
  CHECK((*group.joined[1])->close(after(Seconds(1)), {std::string(2_MiB, 'x')}).code() == StatusCode::kInvalidArgument);
  CHECK((*group.joined[1])->close(after(Seconds(1)), {"", std::string(5_KiB, 'x')}).code() ==
        StatusCode::kInvalidArgument);
}

TEST_CASE("group: last words for rank 0 reach it with the goodbye, from below a relay too, and nobody else") {
  const int ranks = GENERATE(3, 100);
  Ranks group(ranks);
  require_joined(group.joined);
  std::map<Rank, std::string> heard;
  std::string elsewhere;
  (*group.joined[0])->watch_leavers([&](Rank rank, const LastWords& words) { heard[rank] = words.to_hub; });
  (*group.joined[1])->watch_leavers([&](Rank, const LastWords& words) { elsewhere += words.to_hub; });
  const auto words_of = [](Rank rank) { return rank == 2 ? "" : "secret of " + std::to_string(rank); };
  std::vector<Status> closed(static_cast<std::size_t>(ranks));
  group.each([&](Rank rank, Group& each) {
    closed[static_cast<std::size_t>(rank)] = each.close(after(Seconds(20)), {"", words_of(rank)});
  });
  for (const Status& status : closed) CHECK(status.text() == "OK");
  REQUIRE(heard.size() == static_cast<std::size_t>(ranks - 1));
  for (const auto& [rank, words] : heard) CHECK(words == words_of(rank));
  CHECK(elsewhere.empty());
}

TEST_CASE("group: once rank 0 has left, the others go on alone") {
  Ranks group(3);
  require_joined(group.joined);
  CHECK((*group.joined[0])->close(after(Seconds(0.2))).code() == StatusCode::kTimeout);
  group.joined[0] = internal_error("gone");
  const Status asked = (*group.joined[1])->all_gather("weights", "", after(Seconds(5))).status();
  CHECK(asked.code() == StatusCode::kPeerFailure);
  CHECK_THAT(asked.message(), Contains("rank 0") && Contains("closed its session") && Contains("weights"));
  CHECK((*group.joined[1])->failure().is_ok());
  CHECK((*group.joined[2])->failure().is_ok());
  CHECK((*group.joined[1])->close(after(Seconds(5))).is_ok());
  (*group.joined[2])->abort(aborted("of its own"));  // nobody else can hear it
  const std::string text = (*group.joined[2])->failure().text();
  CHECK_THAT(text, Catch::StartsWith("Aborted: rank 2 (") && Catch::EndsWith("): of its own"));
}

TEST_CASE("group: an exception of a watcher ends the group with an internal error everywhere, and not the process") {
  Ranks group(3);
  require_joined(group.joined);
  const Rank clumsy = GENERATE(0, 1);
  Group& broken = **group.joined[static_cast<std::size_t>(clumsy)];
  broken.watch_leavers([](Rank, const LastWords&) { throw std::runtime_error("boom"); });
  group.joined[2] = internal_error("gone");
  for (const Rank rank : {0, 1}) {
    std::promise<std::string> cause;
    (*group.joined[static_cast<std::size_t>(rank)])->watch([&](const Status& why) { cause.set_value(why.text()); });
    CHECK_THAT(cause.get_future().get(), Contains("Internal: the group's thread failed: boom"));
  }
  std::promise<void> told;  // the thread still serves who comes late
  broken.watch([&](const Status&) { told.set_value(); });
  CHECK(told.get_future().wait_for(Seconds(10)) == std::future_status::ready);
  CHECK(broken.all_gather("x", "", after(Seconds(5))).status().code() == StatusCode::kInternal);
  CHECK(broken.close(after(Seconds(5))).code() == StatusCode::kInternal);
}

TEST_CASE("group: close() names the ranks that stay") {
  Ranks group(3);
  require_joined(group.joined);
  std::promise<void> rank_0_closes;
  (*group.joined[1])->watch_leavers([&](Rank, const LastWords&) { rank_0_closes.set_value(); });
  std::vector<Status> closed(3);
  group.each([&](Rank rank, Group& each) {
    if (rank == 1) rank_0_closes.get_future().wait();
    // Rank 0 waits longer: once it has gone, who said goodbye has nobody left to hear from, which is a good end.
    if (rank != 2) closed[static_cast<std::size_t>(rank)] = each.close(after(Seconds(rank == 0 ? 2 : 0.3)));
  });
  CHECK(closed[1].code() == StatusCode::kTimeout);
  CHECK_THAT(closed[1].message(), Contains("rank 2 did not say goodbye"));
  CHECK(closed[0].code() == StatusCode::kTimeout);
  CHECK_THAT(closed[0].message(), Contains("rank 2 did not say goodbye"));
}

TEST_CASE("group: two threads close a group at once, and both hear how it ended") {
  for (int turn = 0; turn < 5; ++turn) {
    Ranks group(2);
    require_joined(group.joined);
    std::vector<std::future<std::string>> closed;
    for (const Joined& each : group.joined) {
      for (int closer = 0; closer < 2; ++closer) {
        closed.push_back(std::async(std::launch::async, [&each] { return (*each)->close(after(Seconds(20))).text(); }));
      }
    }
    for (auto& each : closed) CHECK(each.get() == "OK");
  }
}

TEST_CASE("group: a forked child has no part in its parent's group") {
  Ranks group(2);
  require_joined(group.joined);
  const pid_t child = fork();
  if (child == 0) {
    const bool refused =
        (*group.joined[0])->failure().code() == StatusCode::kUnavailable &&
        (*group.joined[1])->all_gather("x", "", after(Seconds(1))).status().code() == StatusCode::kUnavailable;
    group.joined.clear();
    _exit(refused ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  std::vector<Status> closed(2);
  group.each([&](Rank rank, Group& each) { closed[static_cast<std::size_t>(rank)] = each.close(after(Seconds(5))); });
  CHECK(closed[0].text() == "OK");
  CHECK(closed[1].text() == "OK");
}
