// SPDX-License-Identifier: Apache-2.0
//
// Gossip where something is wrong: ranks that leave, plans that differ, and fields that cannot be together.
#include <catch2/catch.hpp>

#include <string>

#include "runtime/session/inner_runs.h"
#include "tests/runtime/session/difference_gossip_cases.h"
#include "tests/runtime/session/plan_file.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)
using namespace casync::test;     // NOLINT(google-build-using-namespace)

namespace {}  // namespace

TEST_CASE("gossip: a rank that leaves earlier is named by those that go on") {
  const std::string complaints =
      with_plan(4, "gossip { neighbours: pairs }", [](Session& session, RankContext& context) -> std::string {
        const Result<GradientId> id = declare(session, "weight", 1000);
        for (std::uint32_t i = 0; i < 50; ++i) {
          if (context.rank == 3 && i == 5) return "";
          std::vector<float> values = contribution(context.rank, 1000, i);
          const std::string bad = exchange(session, *id, values);
          if (!bad.empty()) return bad.find("rank 3") == std::string::npos ? bad : "";
        }
        return "goes on without rank 3";
      });
  // The session has failed by then, which close() says again.
  CHECK(complaints.find("goes on") == std::string::npos);
  CHECK(complaints.find("Timeout") == std::string::npos);
}

TEST_CASE("gossip: wrong combinations are refused with the right ones") {
  const auto opened = [](const std::string& plan, ReduceOp op = ReduceOp::kAverage) {
    return with_plan(
        1, plan, [](Session&, RankContext&) { return std::string(); }, "loopback", op);
  };
  CHECK(opened("gossip { neighbours: ring }", ReduceOp::kSum).find("open the session with op average") !=
        std::string::npos);
  CHECK(opened("gossip { neighbours: ring } staleness: 1").find("gossip beside staleness") != std::string::npos);
  CHECK(opened("gossip { neighbours: ring } local_sgd { every: 2 }").find("gossip beside local_sgd") !=
        std::string::npos);
  CHECK(check_gossip(SyncMode{.every = 1, .neighbours = Neighbours::kPairs}, 65).message() ==
        "gossip with neighbours pairs is for up to 64 ranks, and this job has 65: use ring");
  CHECK(check_gossip(SyncMode{.every = 1, .neighbours = Neighbours::kPairs}, 64).is_ok());
  CHECK(check_gossip(SyncMode{.every = 1, .neighbours = Neighbours::kRing}, 4096).is_ok());
  const auto consensus = [](const std::string& plan, bool submit) {
    return with_plan(2, plan, [&](Session& session, RankContext& context) -> std::string {
      const Result<GradientId> id = declare(session, "weight", 100);
      std::vector<float> values = contribution(context.rank, 100, 0);
      if (submit) {
        static_cast<void>(session.exchanged());
        if (std::string bad = reduce(session, *id, values); !bad.empty()) return bad;
      }
      const std::string text = session.begin_consensus().text();
      static_cast<void>(session.step());
      return text;
    });
  };
  CHECK(consensus("local_sgd { every: 2 }", false).find("a consensus is for a plan with gossip") != std::string::npos);
  CHECK(consensus("gossip { neighbours: ring }", true)
            .find("gradient weight was submitted in step 0 ahead of the consensus: end the step first") !=
        std::string::npos);
}

TEST_CASE("gossip: a program that does not ask what a step exchanges is refused, as its gradients would be mixed") {
  const std::string complaints = with_plan(
      2, "gossip { neighbours: ring from_step: 1 }", [](Session& session, RankContext& context) -> std::string {
        const Result<GradientId> id = declare(session, "weight", 100);
        std::vector<float> values = contribution(context.rank, 100, 0);
        if (std::string bad = step(session, *id, values); !bad.empty()) return bad;
        const std::string refused = reduce(session, *id, values);
        if (refused.find("step 1 exchanges parameters by the plan's gossip, and this program has not asked") ==
            std::string::npos) {
          return "not " + refused;
        }
        return exchange(session, *id, values);
      });
  CHECK(complaints == "");
}

TEST_CASE("gossip: ranks whose plans differ in it do not begin") {
  TemporaryDirectory directory;
  const std::string complaints = with_sessions(
      2,
      [&](SessionOptions& options) {
        const std::string path = directory.path() + "/plan" + std::to_string(*options.launch.rank) + ".txtpb";
        std::ofstream(path) << "version: 1 gossip { neighbours: " << (*options.launch.rank == 0 ? "ring" : "pairs")
                            << " }\n";
        options.plan_file = path;
      },
      [](Session&, RankContext&) { return std::string(); });
  CHECK(complaints.find("plan: gossip neighbours") != std::string::npos);
}
