// SPDX-License-Identifier: Apache-2.0
//
// Groups of gradients that are sent as one.
#include <catch2/catch.hpp>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "runtime/session/completions.h"
#include "runtime/session/session.h"
#include "tests/runtime/session/gradients.h"
#include "tests/runtime/session/group_cases.h"
#include "tests/runtime/session/lacks_ucx.h"
#include "tests/runtime/session/plan_file.h"
#include "tests/support/ranks.h"

using namespace casync;                // NOLINT(google-build-using-namespace)
using namespace casync::runtime;       // NOLINT(google-build-using-namespace)
using namespace casync::test;          // NOLINT(google-build-using-namespace)
using namespace casync::test::groups;  // NOLINT(google-build-using-namespace)

TEST_CASE("groups: the results are those of one gradient, with any codec and strategy and in any order") {
  for (const char* how : {"", "codec { name: \"onebit\" }", "codec { name: \"int4\" } strategy: ring partitions: 5",
                          "strategy: tree partitions: 2", "codec { name: \"dgc\" } partitions: 3",
                          "codec { name: \"int8\" } warm_up_steps: 2"}) {
    CAPTURE(how);
    std::vector<float> members, one;
    REQUIRE(train_members(kGroup + how + " }", "loopback", 5, members) == "");
    REQUIRE(train_whole("gradient { name: \"g\" " + std::string(how) + " }", 5, one) == "");
    CHECK(members == one);
  }
}

TEST_CASE("groups: they go through staleness, local SGD and a credit") {
  for (const char* how : {"staleness: 1", "staleness: 2", "local_sgd { every: 2 }", "credit_bytes: 4096"}) {
    CAPTURE(how);
    std::vector<float> members, one;
    const std::string rest = std::string("default { codec { name: \"int8\" } partitions: 4 } ") + how;
    REQUIRE(train_members(kGroup + "} " + rest, "loopback", 6, members) == "");
    REQUIRE(train_whole(rest, 6, one) == "");
    CHECK(members == one);
  }
}

TEST_CASE("groups: members that lie one after the other are reduced where they lie, with the same result") {
  std::vector<float> one;
  REQUIRE(train_whole("gradient { name: \"g\" codec { name: \"int8\" } partitions: 2 }", 3, one) == "");
  const PlanFile plan(kGroup + "codec { name: \"int8\" } partitions: 2 }");
  std::vector<float> members;
  CHECK(with_sessions(3, by(plan), [&](Session& session, RankContext& context) -> std::string {
          const Result<std::vector<GradientId>> ids = declare_members(session);
          if (!ids) return ids.status().text();
          for (unsigned step = 0; step < 3; ++step) {
            std::vector<float> all = whole(context.rank, step);
            const std::vector<float> own = all;
            std::vector<Submission> submissions;
            std::byte* at = view_of(all).data;
            for (std::size_t i = 0; i < kNames.size(); ++i) {
              submissions.push_back({(*ids)[i], {at, kSizes[i] * sizeof(float)}});
              at += submissions.back().data.size;
            }
            const Result<std::vector<Handle>> handles = session.submit(submissions);
            if (!handles) return handles.status().text();
            if (const Status status = session.wait((*handles)[0], -1); !status) return status.text();
            if (all.back() == own.back()) return "the last member's result is still elsewhere";
            if (const Result<StepResult> done = session.step(); !done) return done.status().text();
            if (context.rank == 0) members.insert(members.end(), all.begin(), all.end());
          }
          return "";
        }) == "");
  CHECK(members == one);
}

TEST_CASE("groups: over UCX") {
  std::vector<float> members, one;
  const std::string complaints = train_members(kGroup + "codec { name: \"int8\" } }", "ucx:tcp", 4, members);
  if (lacks_ucx(complaints)) return;
  REQUIRE(complaints == "");
  REQUIRE(train_whole("gradient { name: \"g\" codec { name: \"int8\" } }", 4, one) == "");
  CHECK(members == one);
}

TEST_CASE("groups: a group leaves with its last member, as one message to each peer") {
  CHECK(with_group(kGroup + "partitions: 2 }", [](Session& session, RankContext&, Members& members) -> std::string {
          for (unsigned step = 0; step < 2; ++step) {
            const std::uint64_t before = session.stats().messages_sent;
            for (std::size_t i = 0; i < 2; ++i) {
              if (const Status sent = members.submit(session, i); !sent) return sent.text();
            }
            for (std::size_t i = 0; i < 2; ++i) {
              if (session.done(members.handles[i])) return "done while the last was missing";
              const Status early = session.wait(members.handles[i], 0.01);
              const std::string late = "Timeout: gradient " + kNames[i] + ", step " + std::to_string(step) +
                                       ": group g has not left without `c`";
              if (std::string bad = expect(early, late); !bad.empty()) return bad;
            }
            if (const Status sent = members.submit(session, 2); !sent) return sent.text();
            if (const Result<StepResult> done = session.step(); !done) return done.status().text();
            if (session.stats().messages_sent - before != 2) return "not one message to the peer in each hop";
          }
          return "";
        }) == "");
}

TEST_CASE("groups: waits in other threads go on when the group has been reduced") {
  CHECK(with_group(kGroup + "}", [](Session& session, RankContext& context, Members& members) -> std::string {
          Completions completions(session);
          std::atomic<int> called = 0;
          if (const Status ready = completions.prepare(2); !ready) return ready.text();
          for (std::size_t i = 0; i < 2; ++i) {
            if (const Status sent = members.submit(session, i); !sent) return sent.text();
            completions.add(members.handles[i],
                            [&](Handle, const Status& status) { called += status.is_ok() ? 1 : 100; });
          }
          Status waited = internal_error("never");
          std::thread waiter([&] { waited = session.wait(members.handles[0], -1); });
          if (const Status sent = members.submit(session, 2); !sent) return sent.text();
          waiter.join();
          if (const Status told = completions.drain(after(Seconds(20))); !told) return told.text();
          const Result<StepResult> done = session.step();
          if (!done || !waited) return done.status().text() + waited.text();
          if (called != 2) return "completions: " + std::to_string(called);
          const std::vector<float> mean = average(2, kAll, 1);
          return joined(members.values) == mean || context.rank < 0 ? "" : "not the mean";
        }) == "");
}

TEST_CASE("groups: a state has each member's part, and training goes on from it") {
  for (const char* how : {"codec { name: \"onebit\" } partitions: 3", "codec { name: \"dgc\" }"}) {
    for (const char* mode : {"", "staleness: 2"}) {
      CAPTURE(how, mode);
      const std::string text = kGroup + how + " } " + mode;
      SessionState saved[2];
      std::vector<float> expected[2];
      const auto train = [](Session& session, RankContext& context, Members& members, unsigned from, unsigned to) {
        for (unsigned step = from; step < to; ++step) {
          members.values = parts_of(whole(context.rank, step));
          if (const Status sent = members.submit_all(session, step); !sent) return sent.text();
          if (const Result<StepResult> done = session.step(); !done) return done.status().text();
        }
        return std::string();
      };
      REQUIRE(with_group(text, [&](Session& session, RankContext& context, Members& members) -> std::string {
                std::string bad = train(session, context, members, 0, 4);
                const Result<SessionState> state = session.state();
                if (!state) return bad + state.status().text();
                saved[context.rank] = *state;
                if (state->gradients.contains("g")) return "the state has the group";
                for (std::size_t i = 0; i < kNames.size(); ++i) {
                  const GradientState& one = state->gradients.at(kNames[i]);
                  if (one.residual.empty() || one.residual.size() % kSizes[i] != 0) return kNames[i] + " has no part";
                  for (const GradientState::Range& range : one.owned) {
                    if (range.first + range.count > kSizes[i]) return kNames[i] + " owns too much";
                  }
                }
                bad += train(session, context, members, 4, 8);
                expected[context.rank] = joined(members.values);
                return bad;
              }) == "");
      CHECK(with_group(text, [&](Session& session, RankContext& context, Members& members) -> std::string {
              if (const Status loaded = session.load_state(saved[context.rank]); !loaded) return loaded.text();
              std::string bad = train(session, context, members, 4, 8);
              return joined(members.values) == expected[context.rank] ? bad : bad + "other results";
            }) == "");
      // A state of another order of members, of only some, and of a plan with the group for one without.
      CHECK(with_group(std::string("group { name: \"g\" gradient: \"b\" gradient: \"a\" gradient: \"c\" ") + how +
                           " } " + mode,
                       [&](Session& session, RankContext& context, Members&) -> std::string {
                         const std::string told = session.load_state(saved[context.rank]).text();
                         const bool named =
                             told.starts_with("InvalidArgument: gradient b: the state is of elements 1000 ") &&
                             told.ends_with("here it is elements 0 to 7 of 21008 in group g");
                         return named ? "" : told;
                       }) == "");
      CHECK(with_group(text, [&](Session& session, RankContext& context, Members&) -> std::string {
              SessionState some = saved[context.rank];
              std::erase_if(some.gradients, [](const auto& one) { return one.first.starts_with("b"); });
              return expect(session.load_state(some),
                            "InvalidArgument: gradient b: the state has nothing of it, and it has others of group g");
            }) == "");
      CHECK(with_group(std::string("default { ") + how + " } " + mode,
                       [&](Session& session, RankContext& context, Members& members) -> std::string {
                         std::string told = session.load_state(saved[context.rank]).text();
                         if (told == "OK") told = train(session, context, members, 4, 5);
                         return told.find("in group g") != std::string::npos ? "" : "told only: " + told;
                       }) == "");
    }
  }
}
