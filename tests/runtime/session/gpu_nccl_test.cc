// SPDX-License-Identifier: Apache-2.0
//
// Sessions over this machine's NCCL on its GPU. Two ranks on one GPU need NCCL 2.30 and NCCL_MULTI_RANK_GPU_ENABLE=1.
#include <catch2/catch.hpp>

#include "compll/codec/coded/coded_codec.h"
#include "compll/codec/registry.h"
#include "tests/runtime/session/nccl_cases.h"

using namespace casync;              // NOLINT(google-build-using-namespace)
using namespace casync::test;        // NOLINT(google-build-using-namespace)
using namespace casync::test::nccl;  // NOLINT(google-build-using-namespace)

namespace {

constexpr int kTwoRanksOnOneGpu = 23000;

/// Returns true if NCCL is there and lets `ranks` share a GPU; says why not.
bool serves(int ranks) {
  const auto found = find_nccl();
  if (!found) {
    WARN("[SKIP] " << found.status().text());
    return false;
  }
  const int version = (*found)->found;
  WARN("NCCL " << nccl_version_text(version));
  if (ranks == 1 || version >= kTwoRanksOnOneGpu) return true;
  WARN("[SKIP] " << ranks << " ranks on one GPU need NCCL 2.30");
  return false;
}

}  // namespace

TEST_CASE("on this GPU: over nccl, one rank") {
  if (!serves(1)) return;
  for (const char* codec : {"none", "int4", "topk", "onebit", "powersgd"}) {
    INFO(codec);
    CHECK(compare(1, plan_of(codec)) == "");
  }
}

TEST_CASE("on this GPU: over nccl, two ranks, the bytes of every codec are those over loopback") {
  if (!serves(2)) return;
  for (const std::string& codec : compll::codec_names()) {
    if (compll::size_varies(**compll::make_codec(codec, {}))) continue;
    INFO(codec);
    CHECK(compare(2, plan_of(codec)) == "");
  }
}

TEST_CASE("on this GPU: over nccl, two ranks, half precision, staleness, groups and warm-up") {
  if (!serves(2)) return;
  for (const char* codec : {"none", "int4", "topk"}) {
    INFO(codec);
    CHECK(compare(2, plan_of(codec), awkward_for_halves, DType::kBFloat16) == "");
    CHECK(compare(2, "staleness: 1 " + plan_of(codec)) == "");
    CHECK(compare(2, "group { name: \"all\" gradient: [\"g0\", \"g1\", \"g2\"] } " + plan_of(codec)) == "");
    CHECK(compare(2, plan_of(codec, "strategy: ps partitions: 3 warm_up_steps: 1")) == "");
  }
}
