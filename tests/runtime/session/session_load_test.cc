// SPDX-License-Identifier: Apache-2.0
//
// States that are saved and loaded: what goes on from them, and what is refused.
#include <spdlog/sinks/ostream_sink.h>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <functional>
#include <limits>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.h"
#include "runtime/session/session.h"
#include "tests/runtime/session/gradients.h"
#include "tests/support/ranks.h"

using namespace casync;        // NOLINT(google-build-using-namespace)
using namespace casync::test;  // NOLINT(google-build-using-namespace)

namespace {

constexpr int kLoadingRanks = 2;
constexpr std::size_t kLoadedElements = 9000;

/// Steps [from, to) of one gradient; `last` is what the last of them gave.
std::string train(Session& session, int rank, std::uint32_t from, std::uint32_t to, std::vector<float>& last) {
  const Result<GradientId> id = declare(session, "weight", kLoadedElements);
  if (!id) return id.status().text();
  for (std::uint32_t step = from; step < to; ++step) {
    last = contribution(rank, kLoadedElements, step);
    if (std::string bad = reduce(session, *id, last); !bad.empty()) return bad;
    const Result<StepResult> done = session.step();
    if (!done) return done.status().text();
    if (done->step != step) return "that was step " + std::to_string(done->step);
  }
  return "";
}

}  // namespace

TEST_CASE("session state: saved and loaded it continues with the same bytes") {
  SessionState saved[kLoadingRanks];
  std::vector<float> straight[kLoadingRanks], resumed[kLoadingRanks];
  REQUIRE(with_sessions(kLoadingRanks, codec("int4"), [&](Session& session, RankContext& context) {
            std::string bad = train(session, context.rank, 0, 3, straight[context.rank]);
            saved[context.rank] = *session.state();
            return bad.empty() ? train(session, context.rank, 3, 6, straight[context.rank]) : bad;
          }) == "");
  REQUIRE(with_sessions(kLoadingRanks, codec("int4"), [&](Session& session, RankContext& context) {
            const Status loaded = session.load_state(saved[context.rank]);
            return loaded.is_ok() ? train(session, context.rank, 3, 6, resumed[context.rank]) : loaded.text();
          }) == "");
  for (int rank = 0; rank < kLoadingRanks; ++rank) CHECK(straight[rank] == resumed[rank]);

  const std::string refused = with_sessions(kLoadingRanks, codec("int8"), [&](Session& session, RankContext& context) {
    const Result<GradientId> id = declare(session, "weight", kLoadedElements);
    std::vector<float> values = contribution(context.rank, kLoadedElements, 0);
    if (std::string bad = reduce(session, *id, values); !bad.empty()) return bad;
    if (const Result<StepResult> done = session.step(); !done) return done.status().text();
    return session.load_state(saved[context.rank]).text();
  });
  CHECK_THAT(refused, Catch::Contains("gradient weight: the state is of int4"));
}

TEST_CASE("session state: a way back on a live session gives the same bytes again") {
  std::vector<float> straight[kLoadingRanks], again[kLoadingRanks];
  const std::string complaints =
      with_sessions(kLoadingRanks, codec("int4"), [&](Session& session, RankContext& context) {
        const int rank = context.rank;
        if (std::string bad = train(session, rank, 0, 3, straight[rank]); !bad.empty()) return bad;
        const SessionState saved = *session.state();
        if (std::string bad = train(session, rank, 3, 5, straight[rank]); !bad.empty()) return bad;
        for (int round = 0; round < 20; ++round) {  // one rank is back while the other does not know of it
          if (rank == round % 2) std::this_thread::sleep_for(std::chrono::milliseconds(2));
          if (Status status = session.load_state(saved); !status) return status.text();
          if (std::string bad = train(session, rank, 3, 5, again[rank]); !bad.empty()) return bad;
          if (again[rank] != straight[rank]) return "other bytes in round " + std::to_string(round);
        }
        return std::string();
      });
  CHECK(complaints == "");
}

TEST_CASE("session state: loading what was just saved changes nothing") {
  std::vector<float> straight[kLoadingRanks], reloaded[kLoadingRanks];
  for (const bool reload : {false, true}) {
    const std::string complaints =
        with_sessions(kLoadingRanks, codec("int4"), [&](Session& session, RankContext& context) {
          std::vector<float>& last = (reload ? reloaded : straight)[context.rank];
          if (std::string bad = train(session, context.rank, 0, 2, last); !bad.empty()) return bad;
          if (reload) {
            if (Status status = session.load_state(*session.state()); !status) return status.text();
          }
          return train(session, context.rank, 2, 4, last);
        });
    REQUIRE(complaints == "");
  }
  for (int rank = 0; rank < kLoadingRanks; ++rank) CHECK(reloaded[rank] == straight[rank]);
}

TEST_CASE("session state: one of a step that has no next one is damaged, and refused") {
  CHECK(with_sessions(1, codec("int4"), [](Session& session, RankContext&) -> std::string {
          std::vector<float> last;
          SessionState state;
          state.step = std::numeric_limits<std::uint32_t>::max();
          state.ranks = 1;
          const std::string refused = session.load_state(state).text();
          if (refused !=
              "InvalidArgument: the state is of step 4294967295, which has no next one: this state is damaged")
            return "said " + refused;
          return train(session, 0, 0, 1, last);
        }) == "");
}

TEST_CASE("session state: ranks that loaded different steps learn it at once, all of them") {
  const std::string all = run_ranks(kLoadingRanks, [&](RankContext& context) -> std::string {
    Result<std::unique_ptr<Session>> session = Session::open(context.options);
    if (!session) return session.status().text();
    SessionState state;
    state.step = context.rank == 0 ? 9 : 10;
    state.ranks = kLoadingRanks;
    state.rank = context.rank;
    if (Status status = (*session)->load_state(state); !status) return status.text();
    std::vector<float> last;
    return train(**session, context.rank, state.step, state.step + 1, last);
  });
  CHECK_THAT(all, Catch::Contains("rank 0: InvalidArgument") && Catch::Contains("rank 1: InvalidArgument") &&
                      Catch::Contains("step: rank 0 has 9, rank 1 has 10"));
}

TEST_CASE("session state: one rank that goes back alone is refused on all, long ahead of the timeout") {
  for (const int alone : {0, 1}) {  // the owner of the only partition, and the one that sends to it
    for (const bool idle : {true, false}) {
      std::atomic<bool> submitted = false, loaded = false;
      const std::string all = run_ranks(kLoadingRanks, [&](RankContext& context) -> std::string {
        context.options.timeout_s = 300;
        Result<std::unique_ptr<Session>> session = Session::open(context.options);
        if (!session) return session.status().text();
        std::vector<float> last;
        if (std::string bad = train(**session, context.rank, 0, 1, last); !bad.empty()) return bad;
        const SessionState saved = *(*session)->state();
        if (std::string bad = train(**session, context.rank, 1, 2, last); !bad.empty()) return bad;
        if (context.rank == alone) {
          while (!idle && !submitted) std::this_thread::yield();
          if (Status status = (*session)->load_state(saved); !status) return status.text();
          loaded = true;
          return train(**session, context.rank, 1, 3, last);
        }
        while (idle && !loaded) std::this_thread::yield();
        if (idle) std::this_thread::sleep_for(std::chrono::milliseconds(100));  // it has mostly been told by then
        const Submission one{GradientId(0), view_of(last)};
        const Result<std::vector<Handle>> handles = (*session)->submit({&one, 1});
        if (!handles) return handles.status().text();
        submitted = true;
        return (*session)->wait((*handles)[0], -1).text();
      });
      INFO("rank " << alone << " alone, the other " << (idle ? "idle" : "in a step"));
      CHECK_THAT(all, Catch::Contains("rank 0: InvalidArgument") && Catch::Contains("rank 1: InvalidArgument"));
      const auto in_a_step = Catch::Contains("has loaded a state");
      if (idle) {  // or in a step by now, if it is told late
        CHECK_THAT(all, in_a_step || Catch::Contains("step: rank 0 has " + std::to_string(2 - (alone == 0))));
      } else {
        CHECK_THAT(all, in_a_step);
      }
    }
  }
}

TEST_CASE("session state: a load while another thread compares steps is compared, too") {
  const std::string all = run_ranks(kLoadingRanks, [](RankContext& context) -> std::string {
    context.options.timeout_s = 20;
    Result<std::unique_ptr<Session>> session = Session::open(context.options);
    if (!session) return session.status().text();
    const Result<GradientId> id = declare(**session, "weight", 100);
    std::vector<float> values(100, 1.0f);
    if (context.rank == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(300));  // until the other one waits for it
      return reduce(**session, *id, values);
    }
    std::string told;
    std::thread submitter([&] { told = reduce(**session, *id, values); });
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    SessionState state;
    state.step = 9;
    state.ranks = kLoadingRanks;
    static_cast<void>((*session)->load_state(state));  // or a step is under way
    submitter.join();
    return told;
  });
  CHECK_THAT(all, !Catch::Contains("Timeout"));
}

TEST_CASE("session state: a state that does not fit is refused, and none of it is loaded") {
  const std::string complaints = with_sessions(1, codec("int4"), [&](Session& session, RankContext&) -> std::string {
    const GradientId ids[] = {*declare(session, "a", 500), *declare(session, "b", 500)};
    for (const GradientId id : ids) {
      std::vector<float> values = contribution(0, 500, 1);
      if (std::string bad = reduce(session, id, values); !bad.empty()) return bad;
    }
    if (!session.step()) return "step";
    const SessionState before = *session.state();
    SessionState wrong = before;
    wrong.step = 40;
    std::fill(wrong.gradients["a"].residual.begin(), wrong.gradients["a"].residual.end(), 1.0f);
    wrong.gradients["b"].residual.pop_back();
    const Status refused = session.load_state(wrong);
    if (refused.text() != "InvalidArgument: gradient b: a state of 499 elements, its codecs keep 500") {
      return "wrong words: " + refused.text();
    }
    const SessionState after = *session.state();
    if (after.step != before.step) return "the step changed";
    return after.gradients.at("a").residual == before.gradients.at("a").residual ? "" : "a residual changed";
  });
  CHECK(complaints == "");
}

TEST_CASE("session state: a gradient that the state does not name begins without a residual") {
  const std::string complaints = with_sessions(1, codec("int4"), [&](Session& session, RankContext&) -> std::string {
    const SessionState empty = *session.state();
    std::vector<float> last;
    if (std::string bad = train(session, 0, 0, 1, last); !bad.empty()) return bad;
    if (Status status = session.load_state(empty); !status) return status.text();
    const SessionState after = *session.state();
    const std::vector<float>& residual = after.gradients.at("weight").residual;
    return residual == std::vector<float>(kLoadedElements, 0.0f) ? "" : "a residual of the future";
  });
  CHECK(complaints == "");
}

TEST_CASE("session state: names that nobody declares are warned of once, and saved again") {
  std::ostringstream words;
  auto sink = std::make_shared<spdlog::sinks::ostream_sink_mt>(words);
  log().sinks().push_back(sink);
  const std::string complaints = with_sessions(1, codec("int4"), [&](Session& session, RankContext&) -> std::string {
    SessionState state;
    state.ranks = 1;
    state.gradients["gone"] = {"int4 / int4, ps, 1 partitions", {1.0f, 2.0f}};
    if (Status status = session.load_state(state); !status) return status.text();
    std::vector<float> last;
    if (std::string bad = train(session, 0, 0, 1, last); !bad.empty()) return bad;
    if (!declare(session, "late", 10)) return "late";
    if (std::string bad = train(session, 0, 1, 2, last); !bad.empty()) return bad;
    return session.state()->gradients.count("gone") == 1 ? "" : "forgotten";
  });
  log().sinks().pop_back();
  CHECK(complaints == "");
  const std::string text = words.str();
  CHECK(text.find("1 gradients that are not declared here, the first is gone") != std::string::npos);
  CHECK(text.find("not declared here") == text.rfind("not declared here"));
}

namespace {

constexpr std::size_t kMovedElements = 500;  // one partition

/// Three steps from `from` on of gradients that are declared together. `applied`: the results of "b", added up.
/// `states`: by rank. With `from` > 0 they are loaded first; those at the end replace them.
std::string train_owned(Session& session, int rank, const std::vector<std::string>& names, std::uint32_t from,
                        std::vector<double>& applied, SessionState* states) {
  std::vector<GradientId> ids;
  for (const std::string& name : names) {
    const Result<GradientId> id = declare(session, name, kMovedElements);
    if (!id) return id.status().text();
    ids.push_back(*id);
  }
  if (from > 0) {
    if (const Status loaded = session.load_state(states[rank]); !loaded) return loaded.text();
  }
  for (std::uint32_t step = from; step < from + 3; ++step) {
    for (std::size_t i = 0; i < ids.size(); ++i) {
      std::vector<float> values = contribution(rank, kMovedElements, step);
      if (std::string bad = reduce(session, ids[i], values); !bad.empty()) return bad;
      for (std::size_t e = 0; rank == 0 && names[i] == "b" && e < values.size(); ++e) applied[e] += values[e];
    }
    if (const Result<StepResult> done = session.step(); !done) return done.status().text();
  }
  Result<SessionState> state = session.state();
  if (!state) return state.status().text();
  states[rank] = std::move(*state);
  return "";
}

std::function<void(SessionOptions&)> reducing(const std::string& name, ReduceOp op) {
  return [=](SessionOptions& options) {
    options.codec = CodecChoice{name, {}};
    options.op = op;
  };
}

}  // namespace

TEST_CASE("session state: a residual whose owner has changed with the set of gradients counts as much as before") {
  for (const ReduceOp op : {ReduceOp::kAverage, ReduceOp::kSum}) {
    SessionState states[kLoadingRanks];
    std::vector<double> applied(kMovedElements, 0.0);
    REQUIRE(with_sessions(kLoadingRanks, reducing("onebit", op), [&](Session& session, RankContext& context) {
              return train_owned(session, context.rank, {"b"}, 0, applied, states);
            }) == "");
    REQUIRE(states[0].gradients.at("b").owned.size() == 1);
    REQUIRE(with_sessions(kLoadingRanks, reducing("onebit", op), [&](Session& session, RankContext& context) {
              return train_owned(session, context.rank, {"a", "b"}, 3, applied, states);
            }) == "");
    REQUIRE(states[0].gradients.at("b").owned.empty());
    REQUIRE(states[1].gradients.at("b").owned.size() == 1);

    const double contribution_weight = op == ReduceOp::kSum ? 1.0 : 1.0 / kLoadingRanks;
    double error = 0, norm = 0;
    for (std::size_t e = 0; e < kMovedElements; ++e) {
      double sum = 0;
      for (int rank = 0; rank < kLoadingRanks; ++rank) {
        for (std::uint32_t step = 0; step < 6; ++step) sum += contribution(rank, kMovedElements, step)[e];
      }
      sum *= contribution_weight;
      const double left = contribution_weight * static_cast<double>(states[0].gradients.at("b").residual[e]) +
                          static_cast<double>(states[1].gradients.at("b").residual[e]);
      error += (sum - applied[e] - left) * (sum - applied[e] - left);
      norm += sum * sum;
    }
    CHECK(error / norm < 1e-10);
  }
}

TEST_CASE("session state: what a codec keeps beside a residual is refused if its owner has changed") {
  for (const char* name : {"ef21", "laq", "diana", "dgc"}) {
    SessionState states[kLoadingRanks];
    std::vector<double> applied(kMovedElements, 0.0);
    const auto run = [&](const std::vector<std::string>& names, std::uint32_t from) {
      return with_sessions(kLoadingRanks, codec(name), [&](Session& session, RankContext& context) {
        return train_owned(session, context.rank, names, from, applied, states);
      });
    };
    INFO(name);
    REQUIRE(run({"b"}, 0) == "");
    SessionState unknown[] = {states[0], states[1]};
    CHECK_THAT(run({"a", "b"}, 3), Catch::Contains("gradient b: its owners have changed since the state was saved"));
    // A state of an earlier version says nothing of its owners, and is loaded as it is.
    for (int rank = 0; rank < kLoadingRanks; ++rank) {
      unknown[rank].gradients.at("b").op.clear();
      states[rank] = unknown[rank];
    }
    CHECK(run({"a", "b"}, 3) == "");
  }
}

TEST_CASE("session state: a residual of another operation is refused, and so are elements that there are not") {
  SessionState states[kLoadingRanks];
  std::vector<double> applied(kMovedElements, 0.0);
  const auto run = [&](ReduceOp op, std::uint32_t from) {
    return with_sessions(kLoadingRanks, reducing("onebit", op), [&](Session& session, RankContext& context) {
      return train_owned(session, context.rank, {"b"}, from, applied, states);
    });
  };
  REQUIRE(run(ReduceOp::kAverage, 0) == "");
  CHECK_THAT(run(ReduceOp::kSum, 3),
             Catch::Contains("gradient b: the state is of a session with op average, here it is sum"));
  for (SessionState& state : states) state.gradients.at("b").sent = {{kMovedElements - 1, 2}};
  CHECK_THAT(run(ReduceOp::kAverage, 3), Catch::Contains("gradient b: its state names 2 elements from 499 on"));
}
