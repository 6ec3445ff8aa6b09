// SPDX-License-Identifier: Apache-2.0
//
// Gradients on a GPU that are reduced and scattered: the bytes are those of sessions on the host.
#include <algorithm>
#include <catch2/catch.hpp>
#include <limits>

#include "compll/codec/registry.h"
#include "tests/runtime/session/device_runs.h"
#include "tests/runtime/session/plan_file.h"

using namespace casync;        // NOLINT(google-build-using-namespace)
using namespace casync::test;  // NOLINT(google-build-using-namespace)

namespace {

// Shards of 1 to 4 ranks; as many sizes as difference() names.
constexpr std::size_t kScattered[] = {12 * 2600, 12 * 11, 12};

std::vector<std::vector<float>> drawn(int rank, std::uint32_t step) {
  std::vector<std::vector<float>> values;
  for (const std::size_t size : kScattered) values.push_back(contribution(rank, size, 7 * step + 1));
  return values;
}

std::string compared(int ranks, const std::string& codec, DType dtype = DType::kFloat32) {
  const PlanFile plan("seed: 9 default { codec { name: \"" + codec + "\" } partitions: 8 }");
  AllSeen seen[2];
  for (const bool on_device : {false, true}) {
    const std::string complaint =
        run_steps(ranks, on_device, by(plan), seen[on_device ? 1 : 0], drawn, "loopback", dtype, true);
    if (!complaint.empty()) return (on_device ? "on the device: " : "on the host: ") + complaint;
  }
  return difference(seen[0], seen[1]);
}

}  // namespace

TEST_CASE("session on a GPU: scattered gradients have the host's bytes, of every codec") {
  for (const std::string& codec : compll::codec_names()) {
    INFO(codec);
    CHECK(compared(2, codec) == "");
  }
}

TEST_CASE("session on a GPU: scattered gradients have the host's bytes, of 1 to 4 ranks and in half precision") {
  for (const int ranks : {1, 3, 4}) {
    for (const char* codec : {"none", "int4", "onebit", "topk", "diana", "signsgd", "lossless"}) {
      INFO(codec << ", " << ranks << " ranks");
      CHECK(compared(ranks, codec) == "");
    }
  }
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    for (const char* codec : {"none", "int4", "signsgd", "diana"}) {
      INFO(codec << " of " << name_of(dtype));
      CHECK(compared(3, codec, dtype) == "");
    }
  }
}

TEST_CASE("session on a GPU: all ranks learn that a shard is too large for float16 at its owner") {
  const Values values = [](int rank, std::uint32_t step) {
    std::vector<std::vector<float>> all = drawn(rank, step);
    if (step == 1) std::fill_n(all[0].begin(), 100, 4e4f);  // rank 0 owns these
    return all;
  };
  for (const char* codec : {"none", "int8"}) {
    INFO(codec);
    const PlanFile plan(std::string("default { codec { name: \"") + codec + "\" } }");
    const auto configure = [&](SessionOptions& options) {
      options.plan_file = plan.path();
      options.op = ReduceOp::kSum;
    };
    AllSeen host, device;
    CHECK(run_steps(2, false, configure, host, values, "loopback", DType::kFloat16, true) == "");
    CHECK(run_steps(2, true, configure, device, values, "loopback", DType::kFloat16, true) == "");
    CHECK(difference(host, device) == "");
    for (const Seen& seen : device) CHECK(seen.steps == std::vector<std::string>{"1", "0g0", "1"});
  }
}

TEST_CASE("session on a GPU: all ranks learn that a scattered gradient is not finite, and keep their residuals") {
  const Values values = [](int rank, std::uint32_t step) {
    std::vector<std::vector<float>> all = drawn(rank, step);
    if (rank == 1 && step == 1) all[1][5] = std::numeric_limits<float>::infinity();
    return all;
  };
  for (const char* codec : {"none", "int8", "topk"}) {
    INFO(codec);
    const PlanFile plan(std::string("default { codec { name: \"") + codec + "\" } }");
    AllSeen host, device;
    CHECK(run_steps(3, false, by(plan), host, values, "loopback", DType::kFloat32, true) == "");
    CHECK(run_steps(3, true, by(plan), device, values, "loopback", DType::kFloat32, true) == "");
    for (std::size_t rank = 0; rank < 3; ++rank) {
      CHECK(host[rank].steps == std::vector<std::string>{"1", "0g1", "1"});
      CHECK(device[rank].steps == host[rank].steps);
      for (const auto& [name, state] : host[rank].states) CHECK(same_floats(device[rank].states[name], state));
    }
  }
}
