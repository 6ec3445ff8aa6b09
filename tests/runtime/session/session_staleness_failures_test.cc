// SPDX-License-Identifier: Apache-2.0
//
// `staleness` where something is wrong: values that are not finite, states of other plans, mistakes, forks, ends.
#include <catch2/catch.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <latch>
#include <limits>
#include <utility>

#include "tests/runtime/session/staleness_cases.h"

using namespace casync;                   // NOLINT(google-build-using-namespace)
using namespace casync::runtime;          // NOLINT(google-build-using-namespace)
using namespace casync::test;             // NOLINT(google-build-using-namespace)
using namespace casync::test::staleness;  // NOLINT(google-build-using-namespace)

TEST_CASE("staleness: a result that is not finite is told by the step that gets it, after a saved state, too") {
  for (const bool interrupted : {false, true}) {
    SessionState states[kRanks];
    const auto steps = [&](std::uint32_t from, std::uint32_t to) {
      return with_staleness(3, "none", "ps", [&](Session& session, RankContext& context) -> std::string {
        const Result<GradientId> id = declare(session, "weight", 100);
        if (from > 0) {
          if (const Status loaded = session.load_state(states[context.rank]); !loaded) return loaded.text();
        }
        for (std::uint32_t i = from; i < to; ++i) {
          std::vector<float> values = contribution(context.rank, 100, i);
          if (i == 1 && context.rank == 2) values[7] = std::numeric_limits<float>::infinity();
          const Submission one{*id, view_of(values)};
          if (const auto handles = session.submit({&one, 1}); !handles) return handles.status().text();
          const Result<StepResult> done = session.step();
          if (!done) return done.status().text();
          if (done->step != i) return "its step is " + std::to_string(done->step);
          if (done->finite != (i != 4)) return "step " + std::to_string(i) + " says otherwise";
          if (i == 4 && done->first_non_finite != "weight") return "names " + done->first_non_finite;
        }
        Result<SessionState> state = session.state();
        if (!state) return state.status().text();
        states[context.rank] = std::move(*state);
        return "";
      });
    };
    if (interrupted) {
      CHECK(steps(0, 3) == "");
      CHECK(steps(3, 6) == "");
    } else {
      CHECK(steps(0, 6) == "");
    }
  }
}

TEST_CASE("staleness: a state of another staleness is refused, and says both") {
  SessionState states[kRanks];
  Results results;
  REQUIRE(train(2, "none", "ps", results, 0, 2, states) == "");
  const auto load_by = [&](int staleness) {
    return with_staleness(staleness, "none", "ps", [&](Session& session, RankContext& context) {
      return session.load_state(states[context.rank]).message();
    });
  };
  CHECK(load_by(1).find("gradient weight: the state has results that come 2 steps late, by the plan here they come one "
                        "step late") != std::string::npos);
  CHECK(load_by(3).find("come 2 steps late, by the plan here they come 3 steps late") != std::string::npos);
}

TEST_CASE("staleness: in a forked child every call says so, and the session can be freed") {
  const std::string complaints = run_ranks(1, [](RankContext& context) -> std::string {
    const PlanFile plan("staleness: 2");
    context.options.plan_file = plan.path();
    Result<std::unique_ptr<Session>> session = Session::open(context.options);
    if (!session) return session.status().text();
    const Result<GradientId> id = declare(**session, "weight", 10);
    std::vector<float> values(10, 1.0f);
    if (std::string bad = step(**session, *id, values); !bad.empty()) return bad;
    if (!(*session)->state()) return "no state";  // the thread waits for the next step now
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);  // a child that hangs is a failure
      const bool refused = (*session)->step().status().code() == StatusCode::kUnavailable;
      session->reset();
      _exit(refused ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    const Status closed = (*session)->close();
    if (!closed) return closed.text();
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? "" : "the child ended with " + std::to_string(status);
  });
  CHECK(complaints == "");
}

TEST_CASE("staleness: elements that are not finite are told with the step that gets them") {
  const std::string complaints =
      with_staleness(1, "int4", "ps", [&](Session& session, RankContext& context) -> std::string {
        const Result<GradientId> id = declare(session, "weight", kElements);
        if (!id) return id.status().text();
        for (std::uint32_t i = 0; i < kSteps; ++i) {
          std::vector<float> values = contribution(context.rank, kElements, i);
          if (i == 1 && context.rank == 2) values[7] = std::numeric_limits<float>::infinity();
          const Submission one{*id, view_of(values)};
          if (const auto handles = session.submit({&one, 1}); !handles) return handles.status().text();
          const Result<StepResult> done = session.step();
          if (!done) return done.status().text();
          if (done->step != i) return "its step is " + std::to_string(done->step);
          if (done->finite != (i != 2)) return "step " + std::to_string(i) + " says otherwise";
          if (i == 2 && done->first_non_finite != "weight") return "names " + done->first_non_finite;
        }
        return "";
      });
  CHECK(complaints == "");
}

TEST_CASE("staleness: a gradient that a step leaves out tells what is not finite with the step that gets it") {
  for (const bool interrupted : {false, true}) {
    CAPTURE(interrupted);
    const std::string complaints =
        with_staleness(1, "none", "ps", [&](Session& session, RankContext& context) -> std::string {
          const Result<GradientId> often = declare(session, "often", 100), seldom = declare(session, "seldom", 100);
          if (!often || !seldom) return "declare";
          for (std::uint32_t i = 0; i < 6; ++i) {
            std::vector<float> values = contribution(context.rank, 100, i),
                               rare = contribution(context.rank, 100, 50 + i);
            if (i == 0 && context.rank == 2) rare[7] = std::numeric_limits<float>::infinity();
            if (interrupted && i == 2) {
              const Result<SessionState> state = session.state();
              if (!state) return state.status().text();
              if (const Status loaded = session.load_state(*state); !loaded) return loaded.text();
            }
            const Submission both[] = {{*often, view_of(values)}, {*seldom, view_of(rare)}};
            if (const auto handles = session.submit({both, i % 3 == 0 ? 2u : 1u}); !handles) {
              return handles.status().text();
            }
            const Result<StepResult> done = session.step();
            if (!done) return done.status().text();
            // Step 1 is the one that gets the others of step 0, and step 3 is that in which this one comes back.
            if (done->finite != (i != 1 && i != 3)) return "step " + std::to_string(i) + " says otherwise";
            if (!done->finite && done->first_non_finite != "seldom") return "names " + done->first_non_finite;
          }
          return "";
        });
    CHECK(complaints == "");
  }
}

TEST_CASE("staleness: mistakes are named where they are made") {
  const std::string complaints =
      with_staleness(1, "none", "ps", [&](Session& session, RankContext& context) -> std::string {
        const Result<GradientId> id = declare(session, "weight", 10);
        if (!id) return id.status().text();
        std::vector<float> values = contribution(context.rank, 10, 1), few(9);
        const auto refused = [&](const Submission& one, const char* why) {
          const auto handles = session.submit({&one, 1});
          return !handles && handles.status().message().find(why) != std::string::npos;
        };
        if (!refused({*id, view_of(few)}, "gradient weight: 36 bytes, declared with 40")) return "size";
        if (!refused({GradientId(7), view_of(values)}, "no gradient has the id 7")) return "id";
        const Submission twice[] = {{*id, view_of(values)}, {*id, view_of(values)}};
        if (const auto handles = session.submit(twice); handles) return "twice in one";
        if (std::string bad = reduce(session, *id, values); !bad.empty()) return bad;
        if (!refused({*id, view_of(values)}, "submitted twice in step 0")) return "twice in a step";
        if (session.state()) return "a state in the middle of a step";
        if (session.wait(Handle(99), 1).message() != "no submission gave the handle 99") return "handle";
        if (const auto done = session.step(); !done) return done.status().text();
        Result<SessionState> state = session.state();
        if (!state) return state.status().text();
        state->gradients.at("weight (late)").residual.resize(4);
        const Status loaded = session.load_state(*state);
        if (loaded.message() != "gradient weight: a late result of 4 elements, it has 10") return loaded.text();
        if (std::string bad = reduce(session, *id, values); !bad.empty()) return bad;
        const auto done = session.step();
        return done ? "" : done.status().text();
      });
  CHECK(complaints == "");
}

TEST_CASE("staleness: closing in the middle of a step says so") {
  std::latch all_reduced(kRanks);  // else somebody closes on a rank that still waits for it
  const PlanFile plan("staleness: 1");
  const std::string complaints = run_ranks(kRanks, [&](RankContext& context) -> std::string {
    context.options.plan_file = plan.path();
    const Result<std::unique_ptr<Session>> opened = Session::open(context.options);
    if (!opened) {
      all_reduced.count_down();
      return opened.status().text();
    }
    Session& session = **opened;
    const Result<GradientId> id = declare(session, "weight", 1000);
    std::vector<float> values(1000, 1.0f), more(1000, 1.0f);
    std::string bad = step(session, *id, values);
    if (bad.empty()) bad = reduce(session, *id, more);
    all_reduced.arrive_and_wait();
    if (!bad.empty()) return bad;
    const Status closed = session.close();
    if (closed.code() != StatusCode::kAborted) return closed.text();
    return closed.message() == "the session was closed while 1 gradients were under way" ? "" : closed.text();
  });
  CHECK(complaints == "");
}

TEST_CASE("staleness: an abort ends every rank's step") {
  const std::string complaints =
      with_staleness(1, "none", "ps", [&](Session& session, RankContext& context) -> std::string {
        const Result<GradientId> id = declare(session, "weight", 1000);
        std::vector<float> values(1000, 1.0f);
        for (int i = 0; i < 1000; ++i) {
          if (i == 3 && context.rank == 1) session.abort("enough");
          const std::string bad = step(session, *id, values);
          if (!bad.empty()) return bad.find("rank 1 aborted the job: enough") == std::string::npos ? bad : "";
        }
        return "goes on after an abort";
      });
  CHECK(complaints == "");
}
