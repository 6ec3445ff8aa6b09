// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/departure.h"

#include <catch2/catch.hpp>
#include <future>

#include "tests/runtime/session/held_session.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

/// The goodbyes with last words.
std::vector<test::HeldGroup::Goodbye> goodbyes_of(const test::HeldSession& session) {
  std::vector<test::HeldGroup::Goodbye> said = session.group->told().goodbyes;
  std::erase_if(said, [](const test::HeldGroup::Goodbye& one) { return one.words.empty(); });
  return said;
}

std::string leave(test::HeldSession& session, const Status& served = Status::ok()) {
  return session.departure.leave(served).text();
}

}  // namespace

TEST_CASE("departure: a rank that leaves says what it has completed") {
  test::HeldSession session(8200);
  const GradientId done = session.declare("done"), open = session.declare("open");
  session.claim();
  session.openings.agreed({{"gradient done"}, true});
  session.submit(done);
  REQUIRE(session.openings.wait_for_held(after(Seconds(60))).text() == "OK");
  REQUIRE(session.parts.executor->waits().wait_all(after(Seconds(60))).text() == "OK");
  CHECK(leave(session) == "OK");
  CHECK_FALSE(session.departure.is_abandoned());
  REQUIRE(goodbyes_of(session).size() == 1);
  const Result<Farewell> said = decode_farewell(goodbyes_of(session)[0].words);
  REQUIRE(said.status().text() == "OK");
  CHECK(said->steps == 0);
  CHECK(said->gradients == std::vector<std::uint64_t>{session.tables.gradients.declared(0).key});
  static_cast<void>(open);
}

TEST_CASE("departure: a rank that knows its pace says it with its goodbye, for rank 0") {
  test::HeldSession session(8208, 1);
  session.parts.paces->set_own(Pace{0.25, 0.01, 12});
  CHECK(leave(session) == "OK");
  REQUIRE(goodbyes_of(session).size() == 1);
  const std::optional<Pace> said = decode_pace(goodbyes_of(session)[0].to_hub);
  REQUIRE(said);
  CHECK(said->median_s == 0.25);
  CHECK(said->steps == 12);
}

TEST_CASE("departure: rank 0 serves the others as long as a wait may take, and the others wait as for a silent rank") {
  const Rank rank = GENERATE(0, 1);
  test::HeldSession session(8201, rank);
  const Clock::time_point now = Clock::now();
  session.group->farewell = timeout_error("rank 3 did not say goodbye");
  CHECK(leave(session) == "OK");  // the others may write a checkpoint first
  REQUIRE(goodbyes_of(session).size() == 1);
  const double patience = Seconds(goodbyes_of(session)[0].deadline - now).count();
  CHECK((patience >= 30) == (rank == 0));
  CHECK(patience >= 5);
}

TEST_CASE("departure: the end of the job on the way is an error") {
  test::HeldSession session(8202);
  session.group->farewell = peer_failure("rank 1 died");
  CHECK(leave(session) == "PeerFailure: rank 1 died");
}

TEST_CASE("departure: a gradient under way is an error, and the others hear of this rank's goodbye all the same") {
  test::HeldSession session(8203, 0, 0.2);
  session.parts.executor->requests().hold(1);
  CHECK(leave(session) == "Aborted: the session was closed while 1 gradients were under way");
  CHECK(goodbyes_of(session).size() == 1);
}

TEST_CASE("departure: after a failure nobody hears a goodbye") {
  test::HeldSession session(8204);
  SECTION("of the job") {
    session.parts.executor->failures().fail(peer_failure("rank 1 died"));
    CHECK(leave(session) == "OK");
  }
  SECTION("of serving others") {
    CHECK(leave(session, timeout_error("no rank has gone on")) == "Timeout: no rank has gone on");
  }
  CHECK(goodbyes_of(session).empty());
  CHECK(session.group->told().goodbyes.size() == 1);  // its thread has ended
}

TEST_CASE("departure: an asynchronous rank leaves with all steps once all have ended theirs") {
  test::HeldSession session(8205);
  int agreed = 0;
  const auto agree = [&] {
    ++agreed;
    return Status::ok();
  };
  const bool declares = GENERATE(false, true);
  if (declares) session.declare("weight");
  CHECK(session.departure.serve_others(agree).text() == "OK");
  CHECK(agreed == (declares ? 1 : 0));
  CHECK(leave(session) == "OK");
  REQUIRE(goodbyes_of(session).size() == 1);
  CHECK(decode_farewell(goodbyes_of(session)[0].words)->steps == kAllSteps);
}

TEST_CASE("departure: a server that cannot agree on its gradients serves nobody") {
  test::HeldSession session(8206);
  session.declare("weight");
  CHECK(session.departure.serve_others([] { return timeout_error("rank 1 did not claim it"); }).text() ==
        "Timeout: rank 1 did not claim it");
  CHECK(leave(session) == "OK");
  REQUIRE(goodbyes_of(session).size() == 1);
  CHECK(decode_farewell(goodbyes_of(session)[0].words)->steps == 0);
}

TEST_CASE("departure: a thread that does not end keeps what it uses") {
  test::HeldSession session(8207, 0, 0.2);
  std::promise<void> release;
  session.parts.executor->call([goes_on = release.get_future().share()] { goes_on.wait(); });
  CHECK_THAT(leave(session), Catch::StartsWith("Timeout: the session was closed, and a task that was begun has not "
                                               "ended after 0.2 s"));
  CHECK(session.departure.is_abandoned());
  release.set_value();
}
