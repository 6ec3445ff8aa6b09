// SPDX-License-Identifier: Apache-2.0
//
// Asynchronous steps with dedicated servers, which own all partitions and contribute nothing.
#include <catch2/catch.hpp>

#include <limits>

#include "tests/runtime/session/asynchronous_cases.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)
using namespace casync::test;     // NOLINT(google-build-using-namespace)

namespace {

constexpr std::size_t kElements = 5003;

/// Ranks on one node, of which the last `servers` serve.
struct Job {
  int ranks = 0, servers = 0;
  int contributors() const { return ranks - servers; }
  bool serves(int rank) const { return rank >= contributors(); }
  std::string plan(const std::string& rule, const std::string& codec = "") const {
    return "asynchronous { " + rule + " } default { partitions: 4 servers: " + std::to_string(servers) +
           " dedicated: true " + codec + " }";
  }
};

constexpr Job kJobs[] = {{2, 1}, {3, 1}, {3, 2}, {5, 2}};

/// A server has something else in its memory, which does not matter.
Floats held(const Job& job, int rank, std::uint32_t step) {
  return job.serves(rank) ? Floats(kElements, std::numeric_limits<float>::quiet_NaN())
                          : contribution(rank, kElements, step);
}

/// The mean of all contributions to the first `steps` steps.
Doubles all_of(const Job& job, std::uint32_t steps) {
  Doubles sum(kElements);
  for (int rank = 0; rank < job.contributors(); ++rank) {
    for (std::uint32_t i = 0; i < steps; ++i) add(contribution(rank, kElements, i), 1.0 / job.contributors(), sum);
  }
  return sum;
}

/// Steps at each rank's own pace. `told` has the sum of their results.
std::string steps_of(Session& session, const Job& job, int rank, std::uint32_t steps, Doubles& told) {
  std::mt19937 random(static_cast<unsigned>(rank) + 7);
  const Result<GradientId> id = declare(session, "weight", kElements);
  if (!id) return id.status().text();
  for (std::uint32_t i = 0; i < steps; ++i) {
    Floats values = held(job, rank, i);
    nap(random, rank == 1 ? 3000 : 300);
    if (std::string bad = reduce(session, *id, values); !bad.empty()) return bad;
    const Result<StepResult> done = session.step();
    if (!done) return done.status().text();
    if (!done->finite) return "step " + std::to_string(i) + " is not finite";
    add(values, 1, told);
  }
  return "";
}

}  // namespace

TEST_CASE("asynchronous servers: all ranks are told the contributions of all ranks but dedicated servers") {
  constexpr std::uint32_t kSteps = 6;
  for (const Job& job : kJobs) {
    for (const char* rule : {"", "bound: 0", "bound: 2", "bound: 3 first: 1"}) {
      INFO(job.ranks << " ranks, " << job.servers << " servers, " << rule);
      std::vector<Doubles> told(static_cast<std::size_t>(job.ranks), Doubles(kElements));
      Steps order(job.ranks);
      const std::string complaints =
          with_plan(job.ranks, job.plan(rule), [&](Session& session, RankContext& context) -> std::string {
            Doubles& own = told[static_cast<std::size_t>(context.rank)];
            if (std::string bad = steps_of(session, job, context.rank, kSteps, own); !bad.empty()) return bad;
            order.ends(context.rank, kSteps - 1);
            if (!order.wait_for_all(kSteps - 1)) return "others do not end their steps";
            Floats zeros(kElements);
            if (std::string bad = step(session, GradientId{}, zeros); !bad.empty()) return bad;
            add(zeros, 1, own);
            return "";
          });
      REQUIRE(complaints == "");
      for (const Doubles& one : told) CHECK(largest_difference(one, all_of(job, kSteps)) < 1e-5);
    }
  }
}

TEST_CASE("asynchronous servers: a server has all contributions to its step, and delays nobody") {
  const Job job{4, 1};
  constexpr int kServer = 3;
  Steps order(job.ranks);
  const std::string complaints =
      with_plan(job.ranks, job.plan("bound: 2"), [&](Session& session, RankContext& context) -> std::string {
        const Result<GradientId> id = declare(session, "weight", kElements);
        if (!id) return id.status().text();
        for (int i = 0; i < 12; ++i) {
          // The others end all of their steps while the server is in its third one.
          if (context.rank == kServer && i == 3) {
            for (int rank = 0; rank < kServer; ++rank) {
              if (!order.wait_for(rank, 11)) return "rank " + std::to_string(rank) + " waits for a server";
            }
          }
          order.submits(context.rank, i);
          Floats values = held(job, context.rank, static_cast<std::uint32_t>(i));
          if (std::string bad = step(session, *id, values); !bad.empty()) return bad;
          order.ends(context.rank, i);
          if (context.rank == kServer && order.there(i) < job.ranks)
            return "step " + std::to_string(i) + " lacks a rank";
        }
        return "";
      });
  CHECK(complaints == "");
}

// A server's answer may have contributions to later steps: nobody waits until it has asked.
TEST_CASE("asynchronous servers: with bound 0 all others get the bytes that ps makes with dedicated servers") {
  constexpr std::uint32_t kSteps = 3;
  for (const char* codec : {"none", "int8", "onebit", "topk", "randomk"}) {
    for (const Job& job : kJobs) {
      INFO(job.ranks << " ranks, " << job.servers << " servers, " << codec);
      std::vector<Floats> got[2];
      for (const bool asynchronous : {false, true}) {
        std::vector<Floats>& results = got[asynchronous ? 1 : 0];
        results.assign(static_cast<std::size_t>(job.ranks), {});
        const std::string plan = job.plan("bound: 0", std::string("codec { name: \"") + codec + "\" }");
        const std::string used = asynchronous ? plan : plan.substr(plan.find("default"));
        const std::string complaints = with_plan(job.ranks, used, [&](Session& session, RankContext& context) {
          const Result<GradientId> id = declare(session, "weight", kElements);
          for (std::uint32_t i = 0; i < kSteps; ++i) {
            Floats values = held(job, context.rank, i);
            if (std::string bad = step(session, *id, values); !bad.empty()) return bad;
            Floats& all = results[static_cast<std::size_t>(context.rank)];
            all.insert(all.end(), values.begin(), values.end());
          }
          return std::string();
        });
        REQUIRE(complaints == "");
      }
      for (int i = 0; i < job.contributors(); ++i) {
        const auto rank = static_cast<std::size_t>(i);
        CHECK(same_bytes(got[0][rank], got[1][rank]));
      }
    }
  }
}

TEST_CASE("asynchronous servers: a process that declares its gradients and closes serves until all others have ended") {
  constexpr std::uint32_t kSteps = 6;
  const Job job{4, 2};
  std::vector<Doubles> told(static_cast<std::size_t>(job.ranks), Doubles(kElements));
  const std::string complaints =
      with_plan(job.ranks, job.plan("bound: 0"), [&](Session& session, RankContext& context) -> std::string {
        if (job.serves(context.rank)) {
          const Result<GradientId> id = declare(session, "weight", kElements);
          return id ? session.close().text() == "OK" ? "" : "cannot close" : id.status().text();
        }
        return steps_of(session, job, context.rank, kSteps, told[static_cast<std::size_t>(context.rank)]);
      });
  CHECK(complaints == "");
  for (int rank = 0; rank < job.contributors(); ++rank) {
    CHECK(largest_difference(told[static_cast<std::size_t>(rank)], all_of(job, kSteps)) < 1e-5);
  }
}

TEST_CASE("asynchronous servers: one that closes has the groups of its gradients, also with members that nobody has") {
  constexpr std::uint32_t kSteps = 3;
  const Job job{3, 1};
  const std::string plan = R"(group { name: "g" gradient: "weight" gradient: "bias" gradient: "frozen" } )";
  std::vector<Doubles> told(static_cast<std::size_t>(job.ranks), Doubles(kElements));
  const std::string complaints =
      with_plan(job.ranks, plan + job.plan("bound: 0"), [&](Session& session, RankContext& context) -> std::string {
        const Result<GradientId> weight = declare(session, "weight", kElements), bias = declare(session, "bias", 3);
        if (!weight || !bias) return weight.status().text() + bias.status().text();
        for (std::uint32_t i = 0; i < kSteps && !job.serves(context.rank); ++i) {
          Floats values = held(job, context.rank, i), small(3);
          const Submission both[] = {{*weight, view_of(values)}, {*bias, view_of(small)}};
          if (const auto handles = session.submit(both); !handles) return handles.status().text();
          if (const Result<StepResult> done = session.step(); !done) return done.status().text();
          add(values, 1, told[static_cast<std::size_t>(context.rank)]);
        }
        return "";
      });
  CHECK(complaints == "");
  for (int rank = 0; rank < job.contributors(); ++rank) {
    CHECK(largest_difference(told[static_cast<std::size_t>(rank)], all_of(job, kSteps)) < 1e-5);
  }
}

TEST_CASE("asynchronous servers: a consensus gives servers the others' mean, and no contribution is lost in it") {
  constexpr std::uint32_t kSteps = 8;
  for (const Job& job : kJobs) {
    for (const char* codec :
         {R"(codec { name: "none" })",
          R"(codec { name: "none" } second_hop { name: "topk" param { key: "ratio" value: 0.1 } })"}) {
      INFO(job.ranks << " ranks, " << job.servers << " servers, " << codec);
      std::vector<Doubles> told(static_cast<std::size_t>(job.ranks), Doubles(kElements));
      const std::string complaints =
          with_plan(job.ranks, job.plan("", codec), [&](Session& session, RankContext& context) -> std::string {
            Doubles& own = told[static_cast<std::size_t>(context.rank)];
            if (std::string bad = steps_of(session, job, context.rank, kSteps, own); !bad.empty()) return bad;
            // The program's parameters are the sums of the results.
            Floats parameters(own.begin(), own.end());
            if (const Status begun = session.begin_consensus(); !begun) return begun.text();
            if (std::string bad = step(session, GradientId{}, parameters); !bad.empty()) return bad;
            const Result<SessionState> state = session.state();
            if (!state) return state.status().text();
            own.assign(parameters.begin(), parameters.end());
            // Later steps give what nobody had been told.
            for (int i = 0; i < 40; ++i) {
              Floats zeros(kElements);
              if (std::string bad = step(session, GradientId{}, zeros); !bad.empty()) return bad;
              add(zeros, 1, own);
            }
            return "";
          });
      REQUIRE(complaints == "");
      for (const Doubles& one : told) CHECK(largest_difference(one, all_of(job, kSteps)) < 1e-4);
    }
  }
}

TEST_CASE("asynchronous servers: more first ranks than contribute are refused with their number") {
  const std::string complaints = with_plan(
      3, "asynchronous { first: 3 } default { servers: 1 dedicated: true }", [](Session& session, RankContext&) {
        return session.declare({"matrix", DType::kFloat32, {64, 64}, 0}).status().text();
      });
  CHECK(complaints.find("first: 3, and 1 dedicated server of 3 ranks leave 2 to contribute") != std::string::npos);
}
