// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/job_end.h"

#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <thread>

#include "runtime/session/farewell.h"
#include "tests/runtime/executor/one_rank.h"
#include "tests/runtime/session/first_gone.h"
#include "tests/runtime/session/held_session.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("job end: the group hears of the first cause, and its answer is the failure here") {
  test::HeldSession session(8100);
  session.group->verdict = peer_failure("rank 1 died");
  CHECK(session.job_end.end_with(timeout_error("nothing came")).text() == "PeerFailure: rank 1 died");
  CHECK(session.parts.executor->failures().failure().text() == "PeerFailure: rank 1 died");
  CHECK(session.job_end.end_with(timeout_error("still nothing")).text() == "PeerFailure: rank 1 died");
  CHECK(session.group->told().causes == Texts{"Timeout: nothing came"});
}

TEST_CASE("job end: without an answer the cause is the failure, and a rank that has left tells nobody") {
  test::HeldSession session(8101);
  const bool has_left = GENERATE(false, true);
  if (has_left) {
    session.gone.close();
    session.group->verdict = peer_failure("which this rank does not ask for");
  }
  session.job_end.end_here(data_loss("not a payload"));
  CHECK(session.job_end.failure().text() == "DataLoss: not a payload");
  CHECK(session.group->told().causes == (has_left ? Texts{} : Texts{"DataLoss: not a payload"}));
}

TEST_CASE("job end: an abort names this rank and the program's reason") {
  test::HeldSession session(8102, 1);
  CHECK_FALSE(session.job_end.aborted());
  session.job_end.abort("loss is NaN");
  CHECK(session.job_end.aborted());
  CHECK(session.job_end.failure().text() == "PeerFailure: rank 1 aborted the job: loss is NaN");
}

TEST_CASE("job end: a peer that breaks off ends the job while something is under way, and a wrong message always") {
  test::HeldSession session(8103);
  SECTION("nothing is under way") {
    session.job_end.peer_broke(1, peer_failure("closed its connection"));
    CHECK_FALSE(session.parts.executor->failures().failing());
    CHECK(test::first_gone(session.gone) == "PeerFailure: rank 1 (node1, pid 101): closed its connection");
    CHECK(session.group->told().causes.empty());
  }
  SECTION("a gradient is under way") {
    session.parts.executor->requests().hold(1);
    session.job_end.peer_broke(1, peer_failure("closed its connection"));
    CHECK(session.job_end.failure().text() == "PeerFailure: rank 1 (node1, pid 101): closed its connection");
  }
  SECTION("a wrong message") {
    session.job_end.peer_broke(1, data_loss("not a payload"));
    CHECK(session.job_end.failure().text() == "DataLoss: rank 1 (node1, pid 101): not a payload");
  }
  SECTION("it has said goodbye") {
    session.parts.executor->requests().hold(1);
    session.job_end.peer_left(1, encode_farewell({3, {}}));
    session.job_end.peer_broke(1, peer_failure("closed its connection"));
    CHECK_FALSE(session.parts.executor->failures().failing());
    CHECK(session.group->told().causes.empty());
  }
}

TEST_CASE("job end: a goodbye is known here, and ends the job only if it is none") {
  test::HeldSession session(8104);
  SECTION("a goodbye") {
    session.job_end.peer_left(1, encode_farewell({3, {}}));
    CHECK_FALSE(session.parts.executor->failures().failing());
    CHECK(test::first_gone(session.gone) ==
          "PeerFailure: rank 1 (node1, pid 101) left the job: its session was closed");
  }
  SECTION("none") {
    session.job_end.peer_left(1, "?");
    const std::string text = session.job_end.failure().text();
    CHECK_THAT(text, Catch::StartsWith("DataLoss: rank 1 (node1, pid 101): "));
    CHECK(session.group->told().causes == Texts{text});
    CHECK(test::first_gone(session.gone) == "OK");
  }
}

TEST_CASE("job end: calls of the group's thread come back while a copy of the state holds the session's mutex") {
  test::HeldSession session(8107);
  session.declare("a");
  session.claim();
  std::promise<void> told;
  std::thread groups;
  {
    const std::lock_guard copying(session.tables.mutex);
    groups = std::thread([&] {
      session.openings.agreed({{"comparison 1", "gradient a"}, true});
      session.openings.needed("gradient b", 0);
      session.job_end.peer_left(1, encode_farewell({3, {}}));
      session.job_end.peer_broke(2, peer_failure("closed its connection"));
      session.parts.executor->failures().fail(peer_failure("rank 2 died"));
      told.set_value();
    });
    CHECK(told.get_future().wait_for(std::chrono::seconds(20)) == std::future_status::ready);
  }
  groups.join();
}

TEST_CASE("job end: with gossip a rank that leaves may be ahead, and nobody has to end for it yet") {
  Plan plan;
  plan.mode.neighbours = Neighbours::kRing;
  test::HeldSession session(8105, 0, 60, plan);
  session.job_end.peer_left(1, encode_farewell({3, {}}));
  CHECK(test::first_gone(session.gone) == "OK");
  CHECK_FALSE(session.parts.executor->failures().failing());
}

TEST_CASE("job end: a rank that lacks only a result waits for the word of one that lacks a contribution") {
  test::HeldSession session(8106);
  const auto run = test::make_weight("weight", 2, 0);  // rank 0 owns it
  SECTION("it lacks none") {
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      session.parts.executor->failures().fail(timeout_error("nothing came from rank 2"));
    });
    CHECK(session.job_end.end_late(*run, timeout_error("no result")).text() == "Timeout: nothing came from rank 2");
    CHECK(session.group->told().causes.empty());
    other.join();
  }
  SECTION("it lacks one") {
    run->begin(0, {});
    CHECK(session.job_end.end_late(*run, timeout_error("no part")).text() == "Timeout: no part");
    CHECK(session.group->told().causes == Texts{"Timeout: no part"});
  }
}
