// SPDX-License-Identifier: Apache-2.0
//
// Gossip and asynchronous steps on an emulated GPU: which calls of the driver a steady step may not make, and a device
// that fails.
#include <catch2/catch.hpp>

#include "tests/runtime/session/emulated_steps.h"

using namespace casync;        // NOLINT(google-build-using-namespace)
using namespace casync::test;  // NOLINT(google-build-using-namespace)

namespace {

const std::vector<std::string> kPlans = {
    "gossip { neighbours: ring }", "gossip { neighbours: pairs }",
    "gossip { neighbours: ring } default { codec { name: \"int8\" } partitions: 2 }",
    "asynchronous { bound: 0 } default { codec { name: \"int8\" } partitions: 2 }",
    "asynchronous { } default { partitions: 2 }"};

}  // namespace

TEST_CASE("gossip and asynchronous on a GPU: a steady step allocates nothing and waits for nothing") {
  for (const std::string& text : kPlans) {
    INFO(text);
    const PlanFile plan(text);
    CallCounts before, after;
    CHECK(counted_steps(3, on_gpu_by(plan), {{{5000}, {100}, {1}}}, forbidden_calls, before, after) == "");
    CHECK(after == before);
  }
}

TEST_CASE("gossip and asynchronous on a GPU: a kernel that faults ends the job on all ranks, with the gradient") {
  for (const std::string& text : kPlans) {
    for (const int kernels : {0, 1, 3}) {
      INFO(text << ", " << kernels << " kernels");
      const PlanFile plan(text);
      const std::string complaints = steps_with_fault(on_gpu_by(plan), 1, kernels);
      INFO(complaints);
      CHECK_THAT(complaints, !Catch::Contains("it went well"));
      CHECK_THAT(complaints, Catch::Contains("rank 0: Unavailable") && Catch::Contains("rank 1: "));
      CHECK_THAT(complaints, Catch::Contains("an illegal memory access was encountered (CUDA 700)"));
      CHECK_THAT(complaints, Catch::Contains("gradient layer"));
    }
  }
}
