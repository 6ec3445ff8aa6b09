// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/openings.h"

#include <catch2/catch.hpp>

#include "tests/runtime/session/held_session.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

using Texts = std::vector<std::string>;
using Need = std::pair<Texts, std::uint32_t>;

Clock::time_point far() { return after(Seconds(60)); }

}  // namespace

TEST_CASE("openings: new declarations are claimed together, and each once") {
  test::HeldSession session(8300);
  session.declare("a");
  session.declare("b");
  session.claim();
  session.claim();
  session.declare("c");
  session.claim();
  CHECK(session.group->told().claims == std::vector<Texts>{{"gradient a", "gradient b"}, {"gradient c"}});
}

TEST_CASE("openings: held submissions begin once all ranks have claimed their gradient") {
  test::HeldSession session(8301);
  const GradientId a = session.declare("a");
  session.claim();
  const Handle handle = session.submit(a);
  CHECK(session.starts.held().size() == 1);
  CHECK(session.openings.count() == 0);
  session.openings.agreed({{"comparison 1", "gradient a"}, true});
  const Result<GradientRun*> run = session.openings.wait_for_run(handle, far(), far());
  REQUIRE(run.status().text() == "OK");
  CHECK((*run)->spec.name == "a");
  session.openings.ask_who_is_late();  // nothing is held any more
  CHECK(session.group->told().asked_about.empty());
  CHECK(session.openings.wait_for_held(far()).text() == "OK");
  CHECK(session.parts.executor->waits().wait(**run, 0, far()).text() == "OK");
  CHECK(session.openings.count() == 1);
  CHECK(session.openings.wait_for_run(handle, Clock::now(), Clock::now()).status().text() == "OK");  // it is there
}

TEST_CASE("openings: a rank that waits tells the group for what, and gives up at its deadline") {
  test::HeldSession session(8302);
  const GradientId a = session.declare("a");
  session.claim();
  const Handle handle = session.submit(a);
  SECTION("for all that is held") {
    session.openings.end_submissions();
    CHECK(session.group->told().needs == std::vector<Need>{{{"gradient a"}, 0}});
    CHECK(session.openings.wait_for_held(Clock::now()).text() == "Timeout: gradient a: not every rank has declared it");
    CHECK(session.group->told().given_up == Texts{"gradient a"});
  }
  SECTION("for all that is held, and after a while asks who is late") {
    session.openings.ask_who_is_late();
    CHECK(session.group->told().asked_about == Texts{"gradient a"});
  }
  SECTION("for one, and may ask again") {
    CHECK(session.openings.wait_for_run(handle, Clock::now(), far()).status().text() ==
          "Timeout: gradient a: not every rank has declared it");
    CHECK(session.group->told().needs == std::vector<Need>{{{"gradient a"}, 0}});
    CHECK(session.group->told().given_up.empty());
    CHECK_FALSE(session.parts.executor->failures().failing());
  }
  SECTION("for one, and the job fails at the deadline") {
    session.parts.executor->failures().fail(peer_failure("rank 1 is gone"));
    CHECK(session.openings.wait_for_run(handle, Clock::now(), far()).status().text() == "PeerFailure: rank 1 is gone");
  }
  SECTION("for one, and that was the last time") {
    session.group->verdict = timeout_error("rank 1 has not declared gradient a");
    CHECK(session.openings.wait_for_run(handle, Clock::now(), Clock::now()).status().text() ==
          "Timeout: rank 1 has not declared gradient a");
    CHECK(session.group->told().given_up == Texts{"gradient a"});
    CHECK(session.group->told().causes == Texts{"Timeout: gradient a: not every rank has declared it"});
  }
}

TEST_CASE("openings: a rank that ends its step without a name that others need says that it lacks it") {
  test::HeldSession session(8303);
  session.declare("a");
  session.claim();
  session.openings.needed("gradient a", 0);  // claimed, and on its way there
  session.openings.needed("gradient z", 0);
  CHECK(session.group->told().lacks.empty());
  session.openings.end_submissions();
  CHECK(session.group->told().lacks == Texts{"gradient z"});
  session.openings.needed("gradient y", 0);  // the step is over
  session.openings.needed("gradient x", 1);
  CHECK(session.group->told().lacks == Texts{"gradient z", "gradient y"});
  session.openings.go_to(0);  // a state was loaded
  session.openings.needed("gradient w", 0);
  CHECK(session.group->told().lacks == Texts{"gradient z", "gradient y"});
}

TEST_CASE("openings: declarations are claimed at the end of a step's submissions at the latest") {
  test::HeldSession session(8304);
  session.declare("a");
  session.openings.end_submissions();
  CHECK(session.group->told().claims == std::vector<Texts>{{"gradient a"}});
  CHECK(session.group->told().needs.empty());
}

TEST_CASE("openings: gradients that cannot be opened end the job") {
  test::HeldSession session(8305);
  const GradientId a = session.declare("a", 7);
  session.declare("b", 7);
  session.claim();
  const Handle handle = session.submit(a);
  session.openings.agreed({{"gradient a"}, true});
  REQUIRE(session.openings.wait_for_run(handle, far(), far()).status().text() == "OK");
  session.openings.agreed({{"gradient b"}, true});
  REQUIRE(session.parts.executor->waits().wait_until([] { return false; }, far()).text() ==
          "InvalidArgument: gradient b has the same 64-bit hash as another: rename it");
  CHECK(session.group->told().causes.size() == 1);
}
