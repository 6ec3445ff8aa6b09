// SPDX-License-Identifier: Apache-2.0
//
// Small messages over a real transport: how many wire messages they make. Links with a coordinator.
#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "base/allocation_count.h"
#include "runtime/session/session.h"
#include "tests/runtime/session/gradients.h"
#include "tests/runtime/session/lacks_ucx.h"
#include "tests/runtime/session/mixed_training.h"
#include "tests/runtime/session/plan_file.h"
#include "tests/runtime/session/waits_in_turn.h"
#include "tests/support/ranks.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)
using namespace casync::test;     // NOLINT(google-build-using-namespace)

namespace {

constexpr int kFusedGradients = 256;
constexpr Elements kElements = 2048;  // 8 KiB
constexpr bool kSanitized = !kAllocationsAreCounted;

/// Two ranks, some steps. Returns the fewest messages that rank 0 sent in one of them.
std::string fewest_messages(Bytes fusion_bytes, std::uint64_t& fewest) {
  return with_plan(
      2, "fusion_bytes: " + std::to_string(fusion_bytes) + " default { codec { name: \"none\" } }",
      [&](Session& session, RankContext& context) -> std::string {
        std::vector<std::vector<float>> values(kFusedGradients, std::vector<float>(kElements));
        std::vector<Submission> submissions;
        for (int i = 0; i < kFusedGradients; ++i) {
          const Result<GradientId> id = declare(session, "g" + std::to_string(i), kElements);
          if (!id) return id.status().text();
          submissions.push_back({*id, view_of(values[static_cast<std::size_t>(i)])});
        }
        std::uint64_t before = 0;
        for (int step = 0; step < 20; ++step) {
          for (std::vector<float>& one : values) std::fill(one.begin(), one.end(), static_cast<float>(context.rank));
          if (auto handles = session.submit(submissions); !handles) return handles.status().text();
          if (const Result<StepResult> done = session.step(); !done) return done.status().text();
          for (const std::vector<float>& one : values) {
            if (one.front() != 0.5f || one.back() != 0.5f) return "step " + std::to_string(step) + " is not the mean";
          }
          const std::uint64_t now = session.stats().messages_sent;
          if (context.rank == 0 && (step == 0 || now - before < fewest)) fewest = now - before;
          before = now;
        }
        return "";
      },
      "ucx:tcp");
}

/// Trains four ranks over UCX. `last`: rank 0's gradients at the end.
std::string train(bool coordinated, std::vector<float>& last) {
  const PlanFile plan(std::string("coordinated: ") + (coordinated ? "true" : "false") +
                      " default { codec { name: \"int8\" } partition_bytes: 65536 }");
  return casync::test::train({.gradients = 40, .steps = 5, .transport = "ucx:tcp"}, by(plan), last);
}

}  // namespace

TEST_CASE("session: with a coordinator of links the same bytes arrive") {
  std::vector<float> without, with;
  const std::string complaints = train(false, without);
  if (lacks_ucx(complaints)) return;
  REQUIRE(complaints == "");
  REQUIRE(train(true, with) == "");
  CHECK(with == without);
}

TEST_CASE("session: with a coordinator of links ranks may go on in any order, though large messages wait for places") {
  const std::string transport = GENERATE("loopback", "ucx:tcp", "ucx:shm");
  const Elements elements = GENERATE(Elements{300}, Elements{600'000});
  CAPTURE(transport, elements);
  const std::string complaints = wait_in_turn("coordinated: true", elements, transport);
  if (lacks_ucx(complaints)) return;
  CHECK(complaints == "");
}

TEST_CASE("session: 256 gradients of 8 KiB travel in wire messages as large as the plan lets them be") {
  // Each rank sends half of them to their owner and the merged other half back: 1 MiB in each direction and hop.
  struct Row {
    Bytes fusion_bytes;
    std::uint64_t least, most;  // the second hop leaves as it is merged, in a few parts
  };
  for (const Row& row : {Row{0, 256, 256}, {64_KiB, 32, 64}, {1_MiB, 2, 24}, {4_MiB, 2, 24}}) {
    std::uint64_t fewest = 0;
    const std::string complaints = fewest_messages(row.fusion_bytes, fewest);
    if (lacks_ucx(complaints)) return;
    INFO("fusion_bytes " << row.fusion_bytes);
    REQUIRE(complaints == "");
    CHECK(fewest >= row.least);
    if (!kSanitized) CHECK(fewest <= row.most);  // whose merges take longer than messages
  }
}
