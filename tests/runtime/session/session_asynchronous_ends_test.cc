// SPDX-License-Identifier: Apache-2.0
//
// Asynchronous steps: ranks that leave and fail, plans that are refused, consensus and states.
#include <catch2/catch.hpp>

#include <atomic>
#include <chrono>
#include <future>
#include <string>
#include <thread>

#include "runtime/session/asynchronous_run.h"
#include "tests/runtime/session/asynchronous_cases.h"
#include "tests/runtime/session/lacks_ucx.h"
#include "tests/runtime/session/wrapped_transport.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)
using namespace casync::test;     // NOLINT(google-build-using-namespace)

namespace {

/// So many steps of a gradient that begins with these values.
std::string steps_of(Session& session, RankContext& context, std::uint32_t from, std::uint32_t to,
                     std::vector<Floats>* results = nullptr) {
  const Result<GradientId> id = declare(session, "weight", 3000);
  if (!id) return id.status().text();
  for (std::uint32_t i = from; i < to; ++i) {
    Floats values = contribution(context.rank, 3000, i);
    if (std::string bad = step(session, *id, values); !bad.empty()) return bad;
    if (results != nullptr) results->push_back(std::move(values));
  }
  return "";
}

std::string consensus(Session& session, Floats& parameters) {
  const Result<GradientId> id = declare(session, "weight", parameters.size());
  if (!id) return id.status().text();
  if (const Status begun = session.begin_consensus(); !begun) return begun.text();
  if (session.exchanged() != Exchanged::kParameters) return "a consensus exchanges something else";
  return step(session, *id, parameters);
}

/// One step of the group of "weight" and "bias", whose memory is `all`.
std::string group_step(Session& session, Floats& all) {
  const Result<GradientId> weight = declare(session, "weight", 2000), bias = declare(session, "bias", 1001);
  if (!weight || !bias) return weight.status().text() + ", " + bias.status().text();
  const Bytes of_weight = 2000 * sizeof(float);
  const View memory = view_of(all);
  const Submission both[] = {{*weight, memory.slice(0, of_weight)},
                             {*bias, memory.slice(of_weight, memory.size - of_weight)}};
  if (const auto handles = session.submit(both); !handles) return handles.status().text();
  const Result<StepResult> done = session.step();
  return done ? "" : done.status().text();
}

/// The same from step `from` to `to`.
std::string group_steps_of(Session& session, RankContext& context, std::uint32_t from, std::uint32_t to,
                           std::vector<Floats>* results = nullptr) {
  for (std::uint32_t i = from; i < to; ++i) {
    Floats values = contribution(context.rank, 3001, i);
    if (std::string bad = group_step(session, values); !bad.empty()) return bad;
    if (results != nullptr) results->push_back(std::move(values));
  }
  return "";
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("asynchronous: ranks may end in any order, and go on answering until all have") {
  for (const char* transport : {"loopback", "ucx:tcp"}) {
    for (const char* rule : {"", "bound: 1", "bound: 0", "first: 3"}) {
      for (const bool last_first : {false, true}) {
        INFO(transport << ", " << rule << ", " << last_first);
        const std::string plan = std::string("asynchronous { ") + rule + " } default { partitions: 3 }";
        const std::string complaints = with_plan(
            3, plan,
            [&](Session& session, RankContext& context) {
              const int place = last_first ? 2 - context.rank : context.rank;
              return steps_of(session, context, 0, 3 + 4 * static_cast<std::uint32_t>(place));
            },
            transport);
        if (lacks_ucx(complaints)) return;
        CHECK(complaints == "");
      }
    }
  }
}

TEST_CASE("asynchronous: a rank that fails ends the job on all ranks, by its name, also on those that have ended") {
  std::atomic<int> ended = 0;
  const std::string complaints = run_ranks(3, [&](RankContext& context) -> std::string {
    Result<std::unique_ptr<Session>> session = open_by(context, "asynchronous { }");
    if (!session) return session.status().text();
    if (std::string bad = steps_of(**session, context, 0, 3); !bad.empty()) return bad;
    ++ended;
    if (context.rank == 1) {
      while (ended < 3) std::this_thread::yield();
      std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the others are closing
      (*session)->abort("enough");
      return "";
    }
    const std::string closed = (*session)->close().text();
    return contains(closed, "rank 1 aborted the job: enough") ? "" : "closed: " + closed;
  });
  CHECK(complaints == "");
}

TEST_CASE("asynchronous: a rank that closes on two threads answers the others until they have ended, too") {
  std::atomic<bool> closes_twice = false;
  const std::string complaints = run_ranks(2, [&](RankContext& context) -> std::string {
    Result<std::unique_ptr<Session>> session = open_by(context, "asynchronous { }");
    if (!session) return session.status().text();
    if (std::string bad = steps_of(**session, context, 0, 2); !bad.empty()) return bad;
    const auto close = [&] { return (*session)->close().text(); };
    if (context.rank == 0) {
      std::future<std::string> first = std::async(std::launch::async, close);
      std::this_thread::sleep_for(std::chrono::milliseconds(100));  // it answers rank 1 by then
      std::future<std::string> second = std::async(std::launch::async, close);
      closes_twice = true;
      const std::string said[] = {first.get(), second.get()};
      return said[0] == "OK" && said[1] == "OK" ? "" : "closed: " + said[0] + ", " + said[1];
    }
    while (!closes_twice) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(300));  // rank 0 would have left
    if (std::string bad = steps_of(**session, context, 2, 6); !bad.empty()) return "goes on: " + bad;
    const std::string closed = close();
    return closed == "OK" ? "" : "closed: " + closed;
  });
  CHECK(complaints == "");
}

TEST_CASE("asynchronous: a rank that leaves with gradients under way is named by those that go on") {
  const std::string complaints = run_ranks(3, [&](RankContext& context) -> std::string {
    Result<std::unique_ptr<Session>> session = open_by(context, "asynchronous { bound: 0 }");
    if (!session) return session.status().text();
    std::string text = steps_of(**session, context, 0, 2);
    if (context.rank == 2) {
      if (!text.empty()) return text;
      const Result<GradientId> id = declare(**session, "weight", 3000);
      Floats values(3000);
      const Submission one{*id, view_of(values)};
      if (const auto handles = (*session)->submit({&one, 1}); !handles) return handles.status().text();
      const std::string closed = (*session)->close().text();
      return contains(closed, "Aborted") || contains(closed, "PeerFailure") || closed == "OK" ? "" : closed;
    }
    if (text.empty()) {  // rank 2 may have left while this one was in its second step
      std::this_thread::sleep_for(std::chrono::milliseconds(100 * context.rank));
      text = steps_of(**session, context, 2, 1000);
    }
    return contains(text, "rank 2") ? "" : "goes on: " + text;
  });
  CHECK(complaints == "");
}

TEST_CASE(
    "asynchronous: a rank that has ended gives up once nobody goes on, and no earlier, and says who has not ended") {
  for (const int owner : {0, 1}) {  // one of them owns the only partition
    INFO("owner " << owner);
    std::atomic<bool> gave_up = false;
    const std::string complaints = run_ranks(2, [&](RankContext& context) -> std::string {
      context.options.timeout_s = 2;
      Result<std::unique_ptr<Session>> session = open_by(context, "asynchronous { } default { partitions: 1 }");
      if (!session) return session.status().text();
      std::vector<GradientId> ids;
      for (int i = 0; i <= owner; ++i) ids.push_back(*declare(**session, "g" + std::to_string(i), 1000));
      const auto one_step = [&] {
        Floats values(1000);
        return step(**session, ids.back(), values);
      };
      if (std::string bad = one_step(); !bad.empty()) return bad;
      if (context.rank == 0) {
        const Status closed = (*session)->close();
        gave_up = true;
        return contains(closed.text(), "no rank has gone on for 2 s") && contains(closed.text(), "rank 1 has not")
                   ? ""
                   : closed.text();
      }
      for (int i = 0; i < 12; ++i) {  // for longer than the other waits for one
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        if (gave_up) return "it gave up early";
        if (std::string bad = one_step(); !bad.empty()) return bad;
      }
      while (!gave_up) std::this_thread::sleep_for(std::chrono::milliseconds(10));
      const std::string text = one_step();
      return contains(text, "rank 1 has not") ? "" : "after it: " + text;
    });
    CHECK(complaints == "");
  }
}

TEST_CASE("asynchronous: a wait that is too long names the slowest rank, and where it is") {
  for (const int owner : {0, 1, 2}) {
    INFO("owner " << owner);
    std::atomic<int> waiting = 2;
    const std::string complaints = run_ranks(3, [&](RankContext& context) -> std::string {
      // One partition: its owner is any of the ranks, also the slow one.
      context.options.timeout_s = 2;
      Result<std::unique_ptr<Session>> session =
          open_by(context, "asynchronous { bound: 1 } default { partitions: 1 }");
      if (!session) return session.status().text();
      std::vector<GradientId> ids;
      for (int i = 0; i <= owner; ++i) ids.push_back(*declare(**session, "g" + std::to_string(i), 1000));
      const auto all = [&]() -> std::string {
        std::vector<Floats> values(ids.size(), Floats(1000));
        std::vector<Submission> submissions;
        for (std::size_t i = 0; i < ids.size(); ++i) submissions.push_back({ids[i], view_of(values[i])});
        const auto handles = (*session)->submit(submissions);
        if (!handles) return handles.status().text();
        const Result<StepResult> done = (*session)->step();
        return done ? "" : done.status().text();
      };
      if (std::string bad = all(); !bad.empty()) return bad;
      if (context.rank == 2) {
        while (waiting > 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
        return "";
      }
      std::string text;
      for (int i = 1; i < 5 && text.empty(); ++i) text = all();
      --waiting;
      return contains(text, "waits for rank 2, which has contributed to steps up to 0") ? "" : "it says: " + text;
    });
    CHECK(complaints == "");
  }
}

TEST_CASE("asynchronous: a consensus gives all ranks the same bytes, wherever they are, and keeps what is untold") {
  constexpr int kRanks = 3;
  std::vector<Floats> got(kRanks);
  std::vector<std::vector<Floats>> after(kRanks);
  const std::string complaints =
      with_plan(kRanks, R"(asynchronous { } default { partitions: 2 codec { name: "onebit" } })",
                [&](Session& session, RankContext& context) -> std::string {
                  const auto rank = static_cast<std::size_t>(context.rank);
                  // They are in step 6 together, and rank 2 long after the others.
                  if (context.rank == 2) std::this_thread::sleep_for(std::chrono::milliseconds(100));
                  if (std::string bad = steps_of(session, context, 0, 6); !bad.empty()) return bad;
                  got[rank] = contribution(context.rank, 3000, 77);
                  if (std::string bad = consensus(session, got[rank]); !bad.empty()) return bad;
                  const Result<SessionState> state = session.state();
                  if (!state) return state.status().text();
                  if (state->step != 7) return "the state of step " + std::to_string(state->step);
                  if (std::string bad = steps_of(session, context, 7, 8, &after[rank]); !bad.empty()) return bad;
                  const std::string refused = session.state().status().text();
                  return contains(refused, "end a consensus of all gradients (begin_consensus), then take the state")
                             ? ""
                             : "not " + refused;
                });
  REQUIRE(complaints == "");
  CHECK(same_bytes(got[0], got[1]));
  CHECK(same_bytes(got[0], got[2]));
  CHECK(same_bytes(got[0], average(kRanks, 3000, 77)));
}

TEST_CASE("asynchronous: a session goes on from a state as the one that saved it") {
  constexpr int kRanks = 3;
  for (const char* codec : {"none", "onebit", "topk"}) {
    INFO(codec);
    std::vector<SessionState> states(kRanks);
    std::vector<std::vector<Floats>> went_on(kRanks), restored(kRanks);
    // After the consensus sums are alike on all ranks, so that with bound 0 the rest is a function of the state.
    const auto plan = [&](const char* rule) {
      return std::string("asynchronous { ") + rule + " } default { partitions: 3 codec { name: \"" + codec + "\" } }";
    };
    const std::string saved =
        with_plan(kRanks, plan("bound: 0"), [&](Session& session, RankContext& context) -> std::string {
          const auto rank = static_cast<std::size_t>(context.rank);
          if (std::string bad = steps_of(session, context, 0, 5); !bad.empty()) return bad;
          Floats parameters(3000);
          if (std::string bad = consensus(session, parameters); !bad.empty()) return bad;
          Result<SessionState> state = session.state();
          if (!state) return state.status().text();
          states[rank] = std::move(*state);
          return steps_of(session, context, 6, 9, &went_on[rank]);
        });
    REQUIRE(saved == "");
    const std::string loaded =
        with_plan(kRanks, plan("bound: 0"), [&](Session& session, RankContext& context) -> std::string {
          const auto rank = static_cast<std::size_t>(context.rank);
          if (const Result<GradientId> id = declare(session, "weight", 3000); !id) return id.status().text();
          if (const Status status = session.load_state(states[rank]); !status) return status.text();
          return steps_of(session, context, 6, 9, &restored[rank]);
        });
    REQUIRE(loaded == "");
    CHECK(went_on == restored);
    // The other way round a state is refused by name.
    const std::string other =
        with_plan(1, "default { codec { name: \"none\" } }", [&](Session& session, RankContext&) -> std::string {
          SessionState state = states[0];
          state.ranks = 1;
          static_cast<void>(declare(session, "weight", 3000));
          static_cast<void>(session.load_state(state));
          Floats values(3000);
          return reduce(session, *declare(session, "weight", 3000), values);
        });
    CHECK(contains(other, ", asynchronous"));
  }
}

TEST_CASE("asynchronous: a session goes on from a state with a group as the one that saved it") {
  constexpr int kRanks = 3;
  for (const char* codec : {"none", "onebit"}) {
    INFO(codec);
    const std::string plan =
        std::string("asynchronous { bound: 0 } group { name: \"g\" gradient: \"weight\" gradient: \"bias\" ") +
        "partitions: 3 codec { name: \"" + codec + "\" } }";
    std::vector<SessionState> states(kRanks);
    std::vector<std::vector<Floats>> went_on(kRanks), restored(kRanks);
    const std::string saved = with_plan(kRanks, plan, [&](Session& session, RankContext& context) -> std::string {
      const auto rank = static_cast<std::size_t>(context.rank);
      if (std::string bad = group_steps_of(session, context, 0, 5); !bad.empty()) return bad;
      if (const Status begun = session.begin_consensus(); !begun) return begun.text();
      Floats parameters(3001);
      if (std::string bad = group_step(session, parameters); !bad.empty()) return bad;
      Result<SessionState> state = session.state();
      if (!state) return state.status().text();
      states[rank] = std::move(*state);
      return group_steps_of(session, context, 6, 9, &went_on[rank]);
    });
    REQUIRE(saved == "");
    const std::string loaded = with_plan(kRanks, plan, [&](Session& session, RankContext& context) -> std::string {
      const auto rank = static_cast<std::size_t>(context.rank);
      if (!declare(session, "weight", 2000) || !declare(session, "bias", 1001)) return "not declared";
      if (const Status status = session.load_state(states[rank]); !status) return status.text();
      return group_steps_of(session, context, 6, 9, &restored[rank]);
    });
    REQUIRE(loaded == "");
    CHECK(went_on == restored);
  }
}

TEST_CASE("asynchronous: a rank that has ended is missed by a consensus, by its name") {
  const std::string complaints = run_ranks(2, [&](RankContext& context) -> std::string {
    Result<std::unique_ptr<Session>> session = open_by(context, "asynchronous { }");
    if (!session) return session.status().text();
    if (std::string bad = steps_of(**session, context, 0, 2); !bad.empty()) return bad;
    if (context.rank == 1) {
      static_cast<void>((*session)->close());
      return "";
    }
    Floats parameters(3000);
    const std::string text = consensus(**session, parameters);
    return contains(text, "rank 1 has closed its session, and the consensus of step 2 needs its parameters") ? ""
                                                                                                             : text;
  });
  CHECK(complaints == "");
}

TEST_CASE("asynchronous: wrong combinations are refused with the right ones") {
  const auto said = [](const std::string& plan, const std::string& codec = "none") {
    return with_plan(2, plan + " default { codec { name: \"" + codec + "\" } }",
                     [](Session& session, RankContext&) -> std::string {
                       return session.declare({"matrix", DType::kFloat32, {64, 64}, 0}).status().text();
                     });
  };
  CHECK(contains(said("asynchronous { first: 3 }"), "the plan's asynchronous has first: 3, and this job has 2 ranks"));
  CHECK(contains(said("asynchronous { } staleness: 1"), "asynchronous beside staleness"));
  CHECK(contains(said("asynchronous { } gossip { neighbours: ring }"), "asynchronous beside gossip"));
  CHECK(contains(said("asynchronous { } local_sgd { every: 2 }"), "asynchronous beside local_sgd"));
  CHECK(contains(said("asynchronous { } rule { match: \"*\" strategy: ring }"), "use strategy `ps`"));
  CHECK(contains(said("asynchronous { } rule { match: \"*\" warm_up_steps: 3 }", "topk"), "leave `warm_up_steps` out"));
  CHECK(contains(said("asynchronous { }", "powersgd"), "has exchanges of all ranks within a step"));
  CHECK(contains(said("asynchronous { }", "signsgd"), "counts the votes of all ranks"));
  CHECK(contains(said("asynchronous { }", "dgc"), "keeps a state beside a residual"));
  CHECK(contains(said("asynchronous { }", "subsampling"), "makes its result of the codes of all ranks"));
}

TEST_CASE("asynchronous: a steady step allocates nothing") {
  std::atomic<std::uint64_t> allocations[3] = {};
  const PlanFile plan(R"(asynchronous { bound: 2 } default { partitions: 3 codec { name: "topk" } })");
  const std::string complaints = with_sessions(
      3,
      [&](SessionOptions& options) {
        options.plan_file = plan.path();
        options.open_transport = open_wrapped({.allocations = &allocations[*options.launch.rank]});
      },
      [&](Session& session, RankContext& context) -> std::string {
        if (std::string bad = steps_of(session, context, 0, 5); !bad.empty()) return bad;
        const std::uint64_t before = allocations[context.rank];
        if (std::string bad = steps_of(session, context, 5, 25); !bad.empty()) return bad;
        const std::uint64_t made = allocations[context.rank] - before;
        return made == 0 ? "" : std::to_string(made) + " allocations";
      });
  CHECK(complaints == "");
}
