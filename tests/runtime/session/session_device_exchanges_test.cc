// SPDX-License-Identifier: Apache-2.0
//
// Codecs in sessions on a GPU that exchange more than sums of floats: the greatest of all ranks, and whole numbers. The
// emulated driver finds a file's kernels by their names: the program is one that it has (tests/compll/cuda/programs).
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "tests/compll/cuda/emulated/driver.h"
#include "tests/runtime/session/device_cases.h"
#include "tests/runtime/session/emulated_steps.h"
#include "tests/runtime/session/ways.h"

using namespace casync;                // NOLINT(google-build-using-namespace)
using namespace casync::test;          // NOLINT(google-build-using-namespace)
using namespace casync::test::device;  // NOLINT(google-build-using-namespace)

namespace {

/// The codec of the library, and a program with all kinds of exchanges.
const std::string kTernary = "name: \"terngrad_shared\"";
const std::string kProgram = "file: \"" CASYNC_PROGRAMS "/exchanges.cll\"";

std::string plan_with(const std::string& codec, const std::string& more = "strategy: ps partitions: 3") {
  return "default { codec { " + codec + " } " + more + " }";
}

/// None, one, a few, one more than a block of 16 and than a kernel's row, and several of its tiles.
Values gaussians_of(const std::vector<std::size_t>& sizes) {
  return [sizes](int rank, std::uint32_t step) {
    std::vector<std::vector<float>> values;
    for (const std::size_t size : sizes) values.push_back(contribution(rank, size, 7 * step + 1));
    return values;
  };
}

/// The same of gradients of which one rank's second one is not finite in the second step.
Values spoiled_by(float bad) {
  return [bad](int rank, std::uint32_t step) {
    std::vector<std::vector<float>> all = gaussians(rank, step);
    if (rank == 1 && step == 1) all[1][5] = bad;
    return all;
  };
}

/// NaN is NaN of any bits: a sum of two of them has those of either.
AllSeen with_one_nan(AllSeen seen) {
  for (Seen& each : seen) {
    for (std::vector<float>& gradient : each.gradients) {
      for (float& x : gradient) x = std::isnan(x) ? std::numeric_limits<float>::quiet_NaN() : x;
    }
  }
  return seen;
}

}  // namespace

TEST_CASE(
    "session on a GPU: maxima and whole numbers of all ranks are the host's, by every strategy, of 1 to 4 ranks") {
  for (int ranks = 1; ranks <= 4; ++ranks) {
    for (const Way& way : ways_of(ranks)) {
      for (const std::string& codec : {kTernary, kProgram}) {
        INFO(codec << ", " << ranks << " ranks, " << way.strategy << " " << way.nodes);
        CHECK(compare(ranks, plan_with(codec, "partitions: 3 strategy: " + way.strategy), gaussians, way.nodes) == "");
      }
    }
  }
}

TEST_CASE("session on a GPU: exchanges of gradients of any size") {
  for (const std::string& codec : {kTernary, kProgram}) {
    for (const int ranks : {1, 2, 3}) {
      INFO(codec << ", " << ranks << " ranks");
      const Values values = gaussians_of({0, 1, 2, 3, 17, 33, 4097, 20'011});
      CHECK(compare(ranks, plan_with(codec, "strategy: ps partitions: 2"), values) == "");
    }
  }
}

TEST_CASE("session on a GPU: exchanges of gradients in half precision have the host's bytes") {
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    for (const std::string& codec : {kTernary, kProgram}) {
      for (const char* strategy : {"ps", "ring", "all_gather"}) {
        INFO(codec << " of " << name_of(dtype) << ", " << strategy);
        const std::string plan = plan_with(codec, std::string("partitions: 2 strategy: ") + strategy);
        CHECK(compare(3, plan, awkward_for_halves, "", "loopback", dtype) == "");
      }
    }
  }
}

TEST_CASE("session on a GPU: a rank that is not finite is told by exchanges as on the host") {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), infinity, -infinity}) {
    for (const Way& way : ways_of(3)) {
      for (const std::string& codec : {kTernary, kProgram}) {
        INFO(bad << ", " << codec << ", " << way.strategy << " " << way.nodes);
        AllSeen host, device;
        const std::string plan = plan_with(codec, "partitions: 3 strategy: " + way.strategy);
        CHECK(run(3, false, plan, host, spoiled_by(bad), way.nodes) == "");
        CHECK(run(3, true, plan, device, spoiled_by(bad), way.nodes) == "");
        CHECK(device[0].steps == std::vector<std::string>{"1", "0g1", "1"});
        CHECK(difference(with_one_nan(host), with_one_nan(device)) == "");
      }
    }
  }
}

TEST_CASE("session on a GPU: exchanges of sums, of late and of grouped gradients, and after a warm-up") {
  for (const std::string& codec : {kTernary, kProgram}) {
    INFO(codec);
    CHECK(compare(2, "staleness: 1 " + plan_with(codec)) == "");
    CHECK(compare(3, plan_with(codec, "strategy: ring warm_up_steps: 1")) == "");
    CHECK(compare(2, "group { name: \"all\" gradient: [\"g0\", \"g1\"] } " + plan_with(codec)) == "");
    const PlanFile plan("seed: 5 " + plan_with(codec));
    const auto sums = [&](bool on_device, AllSeen& seen) {
      const auto configure = [&](SessionOptions& options) {
        options.plan_file = plan.path();
        options.op = ReduceOp::kSum;
      };
      return run_steps(3, on_device, configure, seen);
    };
    CHECK(compare_both(sums) == "");
  }
}

TEST_CASE("session on a GPU: exchanges over TCP have the host's bytes") {
  for (const std::string& codec : {kTernary, kProgram}) {
    const auto train = [&](const std::string& transport, bool on_device, AllSeen& seen) {
      return run(3, on_device, plan_with(codec, "strategy: ring partitions: 3"), seen, gaussians, "", transport);
    };
    check_over_tcp(train);
  }
}

TEST_CASE("session on a GPU: a steady step with exchanges allocates nothing and waits for nothing") {
  for (const std::string& codec : {kTernary, kProgram}) {
    const PlanFile plan("seed: 5 " + plan_with(codec));
    CallCounts before, after;
    INFO(codec);
    CHECK(counted_steps(2, on_gpu_by(plan), {{{5000}, {100}, {1}}}, forbidden_calls, before, after) == "");
    CHECK(after == before);
  }
}

TEST_CASE("session on a GPU: sums of whole numbers take a launch for their scale only where they have one") {
  const auto launches = [](ReduceOp op) {
    const PlanFile plan(plan_with(kTernary, "strategy: ps partitions: 1"));
    const auto configure = [&](SessionOptions& options) {
      options.plan_file = plan.path();
      options.op = op;
      on_gpu(options);
    };
    const auto counted = [] { return compll::emulated::calls("cuLaunchKernel"); };
    std::uint64_t before = 0, after = 0;
    CHECK(counted_steps(2, configure, {{{5000}}, DType::kFloat32, 5, 2}, counted, before, after) == "");
    return after - before;
  };
  const std::uint64_t of_sum = launches(ReduceOp::kSum), of_mean = launches(ReduceOp::kAverage);
  CHECK(of_sum > 0);
  CHECK(of_mean > of_sum);
}
