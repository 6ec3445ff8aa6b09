// SPDX-License-Identifier: Apache-2.0
// Ranks as processes that are killed, stopped and forked. Latencies are printed with CASYNC_TEST_PRINT=1.
#include <signal.h>

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>

#include "tests/runtime/control/control_support.h"
#include "tests/runtime/control/group/rank_process.h"

using namespace casync;
using namespace casync::runtime;
using namespace casync::runtime::testing;
using Catch::Matchers::Contains;

namespace {

/// A machine that does other things, too, may take so much longer. Less than what the slower detection of a fault
/// takes.
constexpr Seconds kMargin{3};

std::string name_of(Rank rank, const RankProcess& process) {
  return "rank " + std::to_string(rank) + " (" + own_identity(0, 1).host + ", pid " + std::to_string(process.pid()) +
         ")";
}

void print_latency(const char* what, Rank survivor, Seconds latency) {
  if (std::getenv("CASYNC_TEST_PRINT") == nullptr) return;
  std::printf("%s: rank %d knew after %.2f ms\n", what, survivor, 1e3 * latency.count());
}

/// Signals `victim` and checks what all others say, and when.
void strike(std::vector<std::unique_ptr<RankProcess>>& ranks, Rank victim, int signal, Seconds limit,
            const char* what) {
  const Clock::time_point struck = Clock::now();
  ranks[static_cast<std::size_t>(victim)]->signal(signal);
  for (Rank rank = 0; rank < static_cast<Rank>(ranks.size()); ++rank) {
    if (rank == victim) continue;
    const Failure failure = failure_of(*ranks[static_cast<std::size_t>(rank)], Seconds(20));
    INFO(what << ", rank " << rank);
    CHECK_THAT(failure.text, Contains("PeerFailure: " + name_of(victim, *ranks[static_cast<std::size_t>(victim)])));
    CHECK(Seconds(failure.when - struck) < limit + kMargin);
    print_latency(what, rank, failure.when - struck);
  }
}

}  // namespace

TEST_CASE("faults: a killed rank is named by every survivor within 1 s") {
  TemporaryDirectory directory;
  const Rank victim = GENERATE(0, 2);
  auto ranks = start_ranks(4, directory.path());
  strike(ranks, victim, SIGKILL, Seconds(1), victim == 0 ? "kill -9 of rank 0" : "kill -9 of rank 2");
}

TEST_CASE("faults: a killed rank is named by those that wait for it in a collective call") {
  TemporaryDirectory directory;
  auto ranks = start_ranks(3, directory.path());
  ranks[0]->tell("gather weights 60");
  ranks[2]->tell("gather weights 60");
  ranks[1]->signal(SIGKILL);
  for (const std::size_t survivor : {0u, 2u}) {
    CHECK_THAT(ranks[survivor]->hear("gathered", Seconds(10)), Contains("PeerFailure: " + name_of(1, *ranks[1])));
  }
}

TEST_CASE("faults: a killed rank's child process does not hide its death") {
  TemporaryDirectory directory;
  const Rank victim = GENERATE(0, 1);
  auto ranks = start_ranks(3, directory.path());
  ranks[static_cast<std::size_t>(victim)]->tell("fork");
  REQUIRE(ranks[static_cast<std::size_t>(victim)]->hear("forked", Seconds(10)) == "forked");
  strike(ranks, victim, SIGKILL, Seconds(1), "kill -9 of a rank with a child");
}

TEST_CASE("faults: a stopped rank is named within its time, and learns of it when it wakes up") {
  TemporaryDirectory directory;
  const Rank victim = GENERATE(0, 1);
  auto ranks = start_ranks(3, directory.path(), Seconds(1));
  strike(ranks, victim, SIGSTOP, Seconds(2.5), victim == 0 ? "SIGSTOP of rank 0" : "SIGSTOP of rank 1");
  auto& woken = *ranks[static_cast<std::size_t>(victim)];
  woken.signal(SIGCONT);
  CHECK_THAT(failure_of(woken, Seconds(10)).text,
             Contains("PeerFailure: the other ranks gave this one up: " + name_of(victim, woken)) &&
                 Contains("no sign of life for "));
}

TEST_CASE("faults: rank 0 that waited long for a rank notices its silence as soon as any other") {
  TemporaryDirectory directory;
  std::vector<std::unique_ptr<RankProcess>> ranks;
  ranks.push_back(std::make_unique<RankProcess>(0, 2, directory.path(), Seconds(1), Seconds(30)));
  std::this_thread::sleep_for(Seconds(2.5));
  ranks.push_back(std::make_unique<RankProcess>(1, 2, directory.path(), Seconds(1), Seconds(30)));
  for (auto& rank : ranks) REQUIRE(rank->hear("joined", Seconds(10)) == "OK");
  strike(ranks, 1, SIGSTOP, Seconds(2.5), "SIGSTOP of a rank that came late");
}

TEST_CASE("faults: a stop shorter than the limit harms nobody") {
  TemporaryDirectory directory;
  auto ranks = start_ranks(3, directory.path(), Seconds(3));
  for (auto& rank : ranks) rank->signal(SIGSTOP);
  std::this_thread::sleep_for(Seconds(1));
  for (auto& rank : ranks) rank->signal(SIGCONT);
  for (auto& rank : ranks) rank->tell("gather after 10");
  for (auto& rank : ranks) CHECK(rank->hear("gathered", Seconds(15)) == "OK");
}

TEST_CASE("faults: all ranks stopped together for longer than the limit blame nobody") {
  TemporaryDirectory directory;
  auto ranks = start_ranks(3, directory.path(), Seconds(1));
  for (auto& rank : ranks) rank->signal(SIGSTOP);
  std::this_thread::sleep_for(Seconds(2));
  for (auto& rank : ranks) rank->signal(SIGCONT);
  for (auto& rank : ranks) rank->tell("gather after 10");
  for (auto& rank : ranks) CHECK(rank->hear("gathered", Seconds(15)) == "OK");
}

TEST_CASE("faults: the reason a rank gives ahead of its exit is what all others report") {
  TemporaryDirectory directory;
  auto ranks = start_ranks(3, directory.path());
  ranks[1]->tell("abort the data loader broke");
  ranks[1]->tell("exit");
  for (auto& rank : ranks) {
    CHECK_THAT(failure_of(*rank, Seconds(10)).text,
               Catch::StartsWith("Aborted: rank 1 (") && Catch::EndsWith("): the data loader broke"));
  }
}

TEST_CASE("faults: all ranks close cleanly") {
  TemporaryDirectory directory;
  auto ranks = start_ranks(4, directory.path());
  for (auto& rank : ranks) rank->tell("close 10");
  for (auto& rank : ranks) CHECK(rank->hear("closed", Seconds(15)) == "OK");
}

TEST_CASE("faults: a rank that dies while the others still join is named") {
  TemporaryDirectory directory;
  RankProcess hub(0, 3, directory.path(), Seconds(5), Seconds(60));
  std::unique_ptr<RankProcess> first;
  std::string answer;
  // Nothing tells when rank 0 has let it in. On a busy machine that takes longer.
  for (double pause = 0.5; answer.empty() && pause < 10; pause *= 4) {
    first = std::make_unique<RankProcess>(1, 3, directory.path(), Seconds(5), Seconds(60));
    std::this_thread::sleep_for(Seconds(pause));
    first->signal(SIGKILL);
    answer = hub.hear("joined", Seconds(10));
  }
  CHECK_THAT(answer, Contains("PeerFailure: " + name_of(1, *first)));
}

TEST_CASE("faults: waiting costs next to no processor time") {
  TemporaryDirectory directory;
  auto ranks = start_ranks(4, directory.path());
  const auto cpu = [&](RankProcess& rank) {
    rank.tell("cpu");
    return std::stoll(rank.hear("cpu", Seconds(10)));
  };
  std::vector<long long> before;
  for (auto& rank : ranks) before.push_back(cpu(*rank));
  std::this_thread::sleep_for(Seconds(2));
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const double share = static_cast<double>(cpu(*ranks[i]) - before[i]) / 2e9;
    CHECK(share < 0.02);
    if (std::getenv("CASYNC_TEST_PRINT") != nullptr) std::printf("rank %zu idle: %.3f %% of a core\n", i, 100 * share);
  }
}
