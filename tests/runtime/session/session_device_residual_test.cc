// SPDX-License-Identifier: Apache-2.0
//
// Residual memory that a plan chooses, on a GPU: the bytes are those of sessions on the host.
#include <catch2/catch.hpp>
#include <limits>

#include "compll/codec/kept.h"
#include "compll/codec/registry.h"
#include "tests/runtime/session/device_cases.h"
#include "tests/runtime/session/ways.h"

using namespace casync;                // NOLINT(google-build-using-namespace)
using namespace casync::test;          // NOLINT(google-build-using-namespace)
using namespace casync::test::device;  // NOLINT(google-build-using-namespace)

namespace {

const std::string kOneBuffer = "residual_memory: one_buffer ", kBFloat16 = "residual_memory: bfloat16 ";

/// Codecs that keep one value of each element; `residuals`: of these those in which it is a residual.
std::vector<std::string> codecs_that_keep_one(bool residuals) {
  std::vector<std::string> names;
  for (const std::string& name : compll::codec_names()) {
    const auto codec = compll::make_codec(name, {});
    if (!codec || (*codec)->info().states != 1) continue;
    if (!residuals || (*codec)->info().feedback) names.push_back(name);
  }
  return names;
}

}  // namespace

TEST_CASE("session on a GPU: with one buffer the bytes of every codec are the host's, and those of two buffers") {
  const std::vector<std::string> codecs = codecs_that_keep_one(false);
  REQUIRE(codecs.size() > 20);
  for (const std::string& codec : codecs) {
    INFO(codec);
    AllSeen two, host, device;
    CHECK(run(2, false, plan_of(codec, "ps"), two, large_gaussians) == "");
    CHECK(run(2, false, plan_of(codec, "ps", kOneBuffer), host, large_gaussians) == "");
    CHECK(run(2, true, plan_of(codec, "ps", kOneBuffer), device, large_gaussians) == "");
    CHECK(difference(two, host) == "");
    CHECK(difference(host, device) == "");
  }
}

TEST_CASE("session on a GPU: with residuals in bfloat16 the bytes of every codec are the host's") {
  for (const std::string& codec : codecs_that_keep_one(true)) {
    INFO(codec);
    CHECK(compare(2, plan_of(codec, "ps", kBFloat16), large_gaussians) == "");
  }
}

TEST_CASE(
    "session on a GPU: with less residual memory the bytes are the host's, by every strategy and in half precision") {
  for (const Way& way : ways_of(4)) {
    INFO(way.strategy << " " << way.nodes);
    for (const std::string& memory : {kOneBuffer, kBFloat16}) {
      CHECK(compare(4, plan_of("int4", way.strategy, memory), large_gaussians, way.nodes) == "");
    }
  }
  const std::string hops = "second_hop { name: \"int8\" } ";
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    for (const std::string& plan : {plan_of("diana", "ps", kOneBuffer), plan_of("topk", "ps", hops + kOneBuffer),
                                    plan_of("topk", "ps", hops + kBFloat16), plan_of("topk_coded", "ps", kBFloat16)}) {
      INFO(plan);
      CHECK(compare(3, plan, large_gaussians, "", "loopback", dtype) == "");
    }
  }
}

TEST_CASE(
    "session on a GPU: with one buffer a gradient that is not finite makes residuals begin anew, as on the host") {
  const Values values = [](int rank, std::uint32_t step) {
    std::vector<std::vector<float>> all = large_gaussians(rank, step);
    if (rank == 1 && step == 1) all[0][5] = std::numeric_limits<float>::infinity();
    return all;
  };
  for (const char* codec : {"int8", "topk", "diana"}) {
    INFO(codec);
    AllSeen host, device;
    CHECK(run(2, false, plan_of(codec, "ps", kOneBuffer), host, values) == "");
    CHECK(run(2, true, plan_of(codec, "ps", kOneBuffer), device, values) == "");
    CHECK(host[0].steps == std::vector<std::string>{"1", "0g0", "1"});
    CHECK(device[0].steps == host[0].steps);
    for (int rank = 0; rank < 2; ++rank) {
      for (const char* gradient : {"g0", "g1"}) {
        CHECK(same_floats(device[rank].states[gradient], host[rank].states[gradient]));
      }
      CHECK(same_floats(device[rank].gradients[6], host[rank].gradients[6]));
    }
  }
}
