// SPDX-License-Identifier: Apache-2.0
//
// Many ranks in one process: the control plane is a tree, and each rank has as many peers as its strategy takes.
#include <catch2/catch.hpp>
#include <cmath>
#include <string>

#include "tests/runtime/session/gradients.h"
#include "tests/runtime/session/plan_file.h"
#include "tests/support/ranks.h"

using namespace casync;        // NOLINT(google-build-using-namespace)
using namespace casync::test;  // NOLINT(google-build-using-namespace)

namespace {

constexpr int kRanks = 256, kOnANode = 8;
constexpr std::size_t kElements = 3000;

/// Two steps of one rank, each by a value of its own: their sum is exact in any order.
std::string train(Session& session, int rank) {
  const Result<GradientId> id = declare(session, "weight", kElements);
  if (!id) return id.status().text();
  for (int number = 0; number < 2; ++number) {
    std::vector<float> values(kElements, static_cast<float>(rank + number));
    if (std::string bad = step(session, *id, values); !bad.empty()) return bad;
    const float wanted = static_cast<float>(kRanks * (kRanks - 1) / 2 + kRanks * number);
    for (const float value : values) {
      if (value != wanted) return "the sum is " + std::to_string(value) + ", expected " + std::to_string(wanted);
    }
  }
  return "";
}

std::string train_all(const std::string& plan_text) {
  const PlanFile plan(plan_text);
  return run_ranks(kRanks, [&](RankContext& context) -> std::string {
    context.options.plan_file = plan.path();
    context.options.op = ReduceOp::kSum;
    context.options.timeout_s = 120;
    context.options.launch.node = "node" + std::to_string(context.rank / kOnANode);
    Result<std::unique_ptr<Session>> session = Session::open(context.options);
    if (!session) return "open: " + session.status().text();
    if (std::string bad = train(**session, context.rank); !bad.empty()) return bad;
    const Status closed = (*session)->close();
    return closed.is_ok() ? "" : "close: " + closed.text();
  });
}

}  // namespace

TEST_CASE("session scale: 256 ranks on 32 nodes open, reduce and leave") {
  for (const char* strategy : {"hierarchical", "tree", "ps"}) {
    INFO(strategy);
    CHECK(train_all(std::string("default { strategy: ") + strategy + " partitions: 4 }") == "");
  }
}

TEST_CASE("session scale: of 256 ranks one that declares another gradient is named on all, with both values") {
  const std::string complaints = run_ranks(kRanks, [&](RankContext& context) -> std::string {
    context.options.timeout_s = 120;
    context.options.launch.node = "node" + std::to_string(context.rank / kOnANode);
    Result<std::unique_ptr<Session>> session = Session::open(context.options);
    if (!session) return "open: " + session.status().text();
    const Result<GradientId> id = declare(**session, "weight", context.rank == 200 ? 11 : 10);
    std::vector<float> values(context.rank == 200 ? 11 : 10, 1.0f);
    const std::string said = reduce(**session, *id, values);
    const bool right =
        said.find("rank 200") != said.npos && said.find("[11]") != said.npos && said.find("[10]") != said.npos;
    return right ? "" : "wrong words: " + said;
  });
  CHECK(complaints == "");
}
