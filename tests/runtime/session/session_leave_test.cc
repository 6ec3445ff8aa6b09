// SPDX-License-Identifier: Apache-2.0
//
// Healthy jobs end well, with any rank leaving first, with others that take long, and with slow links.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "casync/strategies/strategy.h"
#include "runtime/session/farewell.h"
#include "runtime/session/session.h"
#include "runtime/transport/paced.h"
#include "tests/runtime/session/gradients.h"
#include "tests/runtime/session/plan_file.h"
#include "tests/runtime/session/wrapped_transport.h"
#include "tests/support/ranks.h"

using namespace casync;        // NOLINT(google-build-using-namespace)
using namespace casync::test;  // NOLINT(google-build-using-namespace)

namespace {

void pause(double seconds) { std::this_thread::sleep_for(Seconds(seconds)); }

std::function<Result<std::unique_ptr<Transport>>(const TransportOptions&)> paced_to(const std::string& link) {
  return [=](const TransportOptions& options) -> Result<std::unique_ptr<Transport>> {
    Result<std::unique_ptr<Transport>> inner = make_loopback(options);
    if (!inner) return inner.status();
    return make_paced(std::move(*inner), *parse_link(link), options.ranks);
  };
}

std::string end_step(Session& session, std::uint32_t step) {
  const Result<StepResult> done = session.step();
  if (!done) return "step: " + done.status().text();
  return done->step == step ? "" : "it was step " + std::to_string(done->step);
}

std::string close(Session& session) {
  const Status closed = session.close();
  return closed.is_ok() ? "" : "close: " + closed.text();
}

}  // namespace

TEST_CASE("session leave: the last result may take as long as its link does once others have left") {
  // One partition: its owner sends the result to one rank after the other, 2.4 s each, in which no message is complete.
  const std::string complaints = run_ranks(3, [](RankContext& context) -> std::string {
    context.options.timeout_s = 100;
    context.options.open_transport = paced_to("200kbit");
    Result<std::unique_ptr<Session>> session = Session::open(context.options);
    if (!session) return session.status().text();
    const Result<GradientId> id = declare(**session, "weight", 15'000);
    std::vector<float> values(15'000, static_cast<float>(context.rank));
    if (std::string bad = reduce(**session, *id, values); !bad.empty()) return bad;
    if (std::string bad = end_step(**session, 0); !bad.empty()) return bad;
    if (values.back() != 1.0f) return "wrong average";
    return close(**session);
  });
  CHECK(complaints == "");
}

TEST_CASE("session leave: a step whose gradients have arrived ends long after the others, rank 0 included, have left") {
  const std::string complaints = run_ranks(3, [](RankContext& context) -> std::string {
    context.options.codec = CodecChoice{"int4", {}};
    if (context.rank == 0) context.options.timeout_s = 3;  // so long it waits for the others' goodbyes
    Result<std::unique_ptr<Session>> session = Session::open(context.options);
    if (!session) return session.status().text();
    const Result<GradientId> id = declare(**session, "weight", 1000);
    std::vector<float> values = contribution(context.rank, 1000, 0);
    if (std::string bad = reduce(**session, *id, values); !bad.empty()) return bad;
    if (context.rank != 2) {
      if (std::string bad = end_step(**session, 0); !bad.empty()) return bad;
      return close(**session);
    }
    pause(7);
    if (std::string bad = end_step(**session, 0); !bad.empty()) return bad;
    const Result<SessionState> state = (*session)->state();
    if (!state) return state.status().text();
    const std::vector<float>& residual = state->gradients.at("weight").residual;
    if (residual == std::vector<float>(residual.size(), 0.0f)) return "the residual was not committed";
    return close(**session);
  });
  CHECK(complaints == "");
}

TEST_CASE("session leave: a rank that needs more of one that left is told at once, by rank and gradient") {
  const std::string complaints = run_ranks(3, [](RankContext& context) -> std::string {
    context.options.timeout_s = 1000;  // an answer that is not given at once takes longer than this test may
    Result<std::unique_ptr<Session>> session = Session::open(context.options);
    if (!session) return session.status().text();
    const Result<GradientId> one = declare(**session, "one", 1000), two = declare(**session, "two", 1000);
    std::vector<float> values(1000), others(1000);
    const Submission submission{*two, view_of(others)};
    if (context.rank != 1) {
      const Result<std::vector<Handle>> early = (*session)->submit({&submission, 1});
      if (!early) return early.status().text();
    }
    std::string text = reduce(**session, *one, values);
    if (context.rank == 1) {
      static_cast<void>((*session)->close());  // it may hear of the others' failure
      return text;
    }
    // A slow rank hears of the failure while it still waits for `one`.
    if (text.empty()) text = (*session)->step().status().text();
    return text.find("PeerFailure: rank 1 (") == 0 && text.find("gradient two, step 0, needs more of it") != text.npos
               ? ""
               : "wrong words: " + text;
  });
  CHECK(complaints == "");
}

TEST_CASE("session leave: a step that was complete when the job failed is committed, and the next call fails") {
  std::atomic<int> complete = 0, failed = 0;
  const std::string complaints = run_ranks(3, [&](RankContext& context) -> std::string {
    context.options.codec = CodecChoice{"int4", {}};
    Result<std::unique_ptr<Session>> session = Session::open(context.options);
    if (!session) return session.status().text();
    const Result<GradientId> id = declare(**session, "weight", 1000);
    std::vector<float> values = contribution(context.rank, 1000, 0);
    if (std::string bad = reduce(**session, *id, values); !bad.empty()) return bad;
    ++complete;
    while (complete < 3) pause(0.001);
    if (context.rank == 1) {
      (*session)->abort("enough");
      ++failed;
      return (*session)->step() ? "it goes on after its own abort" : "";
    }
    while (failed == 0) pause(0.001);
    pause(0.2);  // until the reason is here
    if (std::string bad = end_step(**session, 0); !bad.empty()) return bad;
    return reduce(**session, *id, values).find("rank 1 aborted the job: enough") != std::string::npos ? ""
                                                                                                      : "no failure";
  });
  CHECK(complaints == "");
}

TEST_CASE("session leave: endings in any order over slow and fast links are good ones") {
  struct Ending {
    int ranks;
    const char* link;
    std::vector<double> before_step, before_close;  // by rank
  };
  const Ending endings[] = {
      {2, "8mbit", {0, 0.7}, {0, 0}},
      {3, "20mbit,5ms", {0, 0, 1.2}, {0.8, 0, 0}},
      {4, "1gbit", {0.9, 0, 0.3, 0}, {0, 0.9, 0, 0.2}},
  };
  for (const Ending& ending : endings) {
    const std::string complaints = run_ranks(ending.ranks, [&](RankContext& context) -> std::string {
      const auto rank = static_cast<std::size_t>(context.rank);
      context.options.codec = CodecChoice{"int8", {}};
      context.options.open_transport = paced_to(ending.link);
      Result<std::unique_ptr<Session>> session = Session::open(context.options);
      if (!session) return session.status().text();
      const Result<GradientId> id = declare(**session, "weight", 200'000);
      for (std::uint32_t step = 0; step < 2; ++step) {
        std::vector<float> values = contribution(context.rank, 200'000, step);
        if (std::string bad = reduce(**session, *id, values); !bad.empty()) return bad;
        if (step == 1) pause(ending.before_step[rank]);
        if (std::string bad = end_step(**session, step); !bad.empty()) return bad;
      }
      pause(ending.before_close[rank]);
      return close(**session);
    });
    INFO(ending.ranks << " ranks, " << ending.link);
    CHECK(complaints == "");
  }
}

// Ranks of a ring or a tree send on what others still need, rank 0 is the coordinator of links, and other modes have
// exchanges of their own.
TEST_CASE("session leave: endings in any order are good ones by every strategy, and in other modes") {
  constexpr int kRanks = 4;
  constexpr std::uint32_t kSteps = 3;
  std::vector<std::pair<std::string, std::string>> plans;  // with the ranks' nodes
  for (const Strategy& strategy : strategies()) {
    plans.emplace_back(
        "default { codec { name: \"int8\" } strategy: " + std::string(strategy.name) + " partitions: 3 }",
        strategy.levels ? "aabb" : "");
  }
  for (const char* more :
       {"coordinated: true", "credit_bytes: 16384", "staleness: 1",
        "group { name: \"both\" gradient: \"weight\" gradient: \"bias\" }", "local_sgd { every: 2 }"}) {
    plans.emplace_back(std::string(more) + " default { codec { name: \"int8\" } }", "");
  }
  plans.emplace_back("default { codec { name: \"powersgd\" } }", "");
  for (const auto& [plan, nodes] : plans) {
    for (const bool forward : {true, false}) {
      const PlanFile file(plan);
      const std::string complaints = run_ranks(kRanks, [&](RankContext& context) -> std::string {
        context.options.plan_file = file.path();
        if (!nodes.empty()) context.options.launch.node = nodes.substr(static_cast<std::size_t>(context.rank), 1);
        context.options.open_transport = paced_to("50mbit,1ms");
        Result<std::unique_ptr<Session>> session = Session::open(context.options);
        if (!session) return session.status().text();
        const Result<GradientId> weight = (*session)->declare({"weight", DType::kFloat32, {200, 300}, 0}),
                                 bias = declare(**session, "bias", 300);
        if (!weight || !bias) return weight.status().text() + ", " + bias.status().text();
        const int turn = forward ? context.rank : kRanks - 1 - context.rank;  // the first in turn leaves first
        for (std::uint32_t step = 0; step < kSteps; ++step) {
          std::vector<float> large = contribution(context.rank, 60'000, step), small(300, 1.0f);
          const Submission both[] = {{*weight, view_of(large)}, {*bias, view_of(small)}};
          if ((*session)->exchanged() != Exchanged::kNothing) {
            const Result<std::vector<Handle>> handles = (*session)->submit(both);
            if (!handles) return handles.status().text();
            if (step + 1 == kSteps) pause(0.05 * turn);
          }
          if (std::string bad = end_step(**session, step); !bad.empty()) return bad;
        }
        if (turn == 2) pause(0.1);
        return close(**session);
      });
      INFO(plan << (forward ? ", rank 0 leaves first" : ", rank 0 leaves last"));
      CHECK(complaints == "");
    }
  }
}

TEST_CASE("farewell: it comes out as it went in, and what is none is refused") {
  const Farewell farewell{7, {1, ~std::uint64_t{0}, 3}};
  const Result<Farewell> again = decode_farewell(encode_farewell(farewell));
  REQUIRE(again.is_ok());
  CHECK(again->steps == 7);
  CHECK(again->gradients == farewell.gradients);
  CHECK(decode_farewell("")->steps == 0);
  for (const std::size_t bytes : {1, 3, 5, 8, 11}) {
    CHECK(decode_farewell(std::string(bytes, 'x')).status().code() == StatusCode::kDataLoss);
  }
  const Farewell huge{1, std::vector<std::uint64_t>(1'000'000)};
  CHECK(encode_farewell(huge).size() <= 1_MiB);
}
