// SPDX-License-Identifier: Apache-2.0
//
// Sessions whose gradients lie on a GPU: the bytes are those of sessions on the host.
#include <catch2/catch.hpp>
#include <limits>

#include "compll/codec/registry.h"
#include "tests/runtime/session/device_cases.h"
#include "tests/runtime/session/lacks_ucx.h"
#include "tests/runtime/session/plan_file.h"
#include "tests/runtime/session/ways.h"

using namespace casync;                // NOLINT(google-build-using-namespace)
using namespace casync::test;          // NOLINT(google-build-using-namespace)
using namespace casync::test::device;  // NOLINT(google-build-using-namespace)

TEST_CASE("session on a GPU: the bytes of every codec are the host's, by ps") {
  for (const std::string& codec : compll::codec_names()) {
    INFO(codec);
    CHECK(compare(2, plan_of(codec, "ps")) == "");
  }
}

TEST_CASE("session on a GPU: the bytes are the host's, of 1 to 4 ranks") {
  for (const int ranks : {1, 3, 4}) {
    for (const char* codec : {"none", "int4", "onebit", "topk", "diana", "signsgd", "lossless", "laq"}) {
      INFO(codec << ", " << ranks << " ranks");
      CHECK(compare(ranks, plan_of(codec, "ps")) == "");
    }
  }
}

TEST_CASE("session on a GPU: the bytes are the host's, by every strategy") {
  for (const Way& way : ways_of(4)) {
    for (const char* codec :
         {"none", "int4", "qsgd", "topk", "powersgd", "sketched_topk", "terngrad_shared", "lossless", "topk_coded"}) {
      INFO(codec << ", " << way.strategy << " " << way.nodes);
      const std::string plan = plan_of(codec, way.strategy);
      CHECK(compare_if_taken(4, plan, way.nodes) == "");
    }
  }
}

TEST_CASE("session on a GPU: codecs whose parameters differ by little are two") {
  const auto rule = [](const char* gradient, const char* tau) {
    return std::string("rule { match: \"") + gradient +
           "\" codec { name: \"threshold\" param { key: \"tau\" value: " + tau + " } } }";
  };
  const Values tiny = [](int rank, std::uint32_t step) {
    std::vector<std::vector<float>> all = gaussians(rank, step);
    for (std::vector<float>& one : all) {
      for (float& value : one) value *= 1e-7f;
    }
    return all;
  };
  CHECK(compare(2, rule("g0", "1e-7") + " " + rule("g1", "2e-7"), tiny) == "");
}

TEST_CASE("session on a GPU: coded sections have the host's bytes, by every strategy, of 1 to 4 ranks") {
  for (const int ranks : {1, 2, 3, 4}) {
    for (const Way& way : ways_of(ranks)) {
      for (const char* codec : {"threshold_coded", "qsgd_elias", "laq"}) {
        if (ranks % 2 == 1 && codec != std::string_view("qsgd_elias")) continue;  // time
        INFO(codec << ", " << ranks << " ranks, " << way.strategy << " " << way.nodes);
        const std::string plan = plan_of(codec, way.strategy);
        CHECK(compare_if_taken(ranks, plan, way.nodes) == "");
      }
    }
  }
}

TEST_CASE("session on a GPU: the bytes are the host's, over TCP") {
  for (const char* codec : {"none", "int4", "topk_coded"}) {
    const std::string complaint = compare(3, plan_of(codec, "ps"), gaussians, "", "ucx:tcp");
    if (lacks_ucx(complaint)) return;
    CHECK(complaint == "");
  }
}

TEST_CASE("session on a GPU: gradients in half precision have the host's bytes, by every strategy") {
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    for (const char* codec :
         {"none", "int4", "topk", "diana", "bf16", "signsgd", "powersgd", "terngrad_shared", "lossless"}) {
      INFO(codec << " of " << name_of(dtype));
      CHECK(compare(3, plan_of(codec, "ps"), awkward_for_halves, "", "loopback", dtype) == "");
    }
    for (const Way& way : ways_of(4)) {
      for (const char* codec : {"none", "int4"}) {
        INFO(codec << " of " << name_of(dtype) << ", " << way.strategy << " " << way.nodes);
        const std::string plan = plan_of(codec, way.strategy);
        CHECK(compare_if_taken(4, plan, way.nodes, dtype) == "");
      }
    }
  }
}

TEST_CASE("session on a GPU: another codec on the second hop, and steps of warm-up") {
  const char* const hops =
      "default { codec { name: \"topk\" } second_hop { name: \"int8\" } strategy: ps partitions: 2 }";
  CHECK(compare(3, hops) == "");
  const char* const raw = "default { codec { name: \"int4\" } second_hop { name: \"none\" } strategy: ps }";
  CHECK(compare(3, raw) == "");
  CHECK(compare(2, plan_of("topk", "ps", "warm_up_steps: 2")) == "");
  for (const auto& [first, second] :
       {std::pair{"topk_coded", "lossless"}, {"int4", "lossless"}, {"lossless", "int8"}}) {
    const std::string coded = plan_of(first, "ps", std::string("second_hop { name: \"") + second + "\" }");
    CHECK(compare(3, coded) == "");
  }
}

TEST_CASE("session on a GPU: a gradient that is not finite is said, and residuals stay as they were") {
  const Values values = [](int rank, std::uint32_t step) {
    std::vector<std::vector<float>> all = gaussians(rank, step);
    if (rank == 1 && step == 1) all[1][5] = std::numeric_limits<float>::infinity();
    return all;
  };
  for (const char* codec : {"none", "int8", "topk", "topk_coded"}) {
    INFO(codec);
    AllSeen host, device;
    CHECK(run(2, false, plan_of(codec, "ps"), host, values) == "");
    CHECK(run(2, true, plan_of(codec, "ps"), device, values) == "");
    CHECK(host[0].steps == std::vector<std::string>{"1", "0g1", "1"});
    CHECK(device[0].steps == host[0].steps);
    CHECK(device[1].steps == host[1].steps);
    CHECK(same_floats(device[0].states["g0"], host[0].states["g0"]));
    CHECK(same_floats(device[1].gradients[6], host[1].gradients[6]));
  }
}

TEST_CASE("session on a GPU: a result that is too large for float16 is not finite, and residuals stay as they were") {
  for (const std::string codec : {"none", "int8", "lossless", "powersgd", "topk", "diana"}) {
    INFO(codec);
    const PlanFile plan("seed: 5 " + plan_of(codec, "ps"));
    const auto configure = [&](SessionOptions& options) {
      options.plan_file = plan.path();
      options.op = ReduceOp::kSum;
    };
    AllSeen host, device;
    CHECK(run_steps(2, false, configure, host, too_large_for_float16, "loopback", DType::kFloat16) == "");
    CHECK(run_steps(2, true, configure, device, too_large_for_float16, "loopback", DType::kFloat16) == "");
    CHECK(difference(host, device) == "");
    if (codec == "topk" || codec == "diana") continue;  // ranks may send different elements, or smaller ones
    for (const Seen& seen : device) CHECK(seen.steps == std::vector<std::string>{"1", "0g0", "1"});
  }
}

TEST_CASE("session on a GPU: a state goes on where it was taken, on the host too") {
  SessionState taken[2];
  std::vector<float> before[2], after[2], on_host[2];
  const auto steps = [&](bool on_device, std::uint32_t from, std::uint32_t to, const SessionState* loaded,
                         SessionState* state, std::vector<float>* last) {
    return with_sessions(
        2,
        [&](SessionOptions& options) {
          options.codec = CodecChoice{"int4", {}};
          if (on_device) on_gpu(options);
        },
        [&](Session& session, RankContext& context) -> std::string {
          Gradients gradients(session, on_device);
          if (loaded != nullptr) {
            if (Status status = session.load_state(loaded[context.rank]); !status) return status.text();
          }
          if (Status status = gradients.declare_all(); !status) return status.text();
          for (std::uint32_t step = from; step < to; ++step) {
            std::vector<std::vector<float>> all = gaussians(context.rank, step);
            if (const auto done = gradients.step(all); !done) return done.status().text();
            if (state != nullptr && step == 1) state[context.rank] = *session.state();
            last[context.rank] = all[0];
          }
          return "";
        });
  };
  CHECK(steps(true, 0, 4, nullptr, taken, before) == "");
  CHECK(steps(true, 2, 4, taken, nullptr, after) == "");
  CHECK(steps(false, 2, 4, taken, nullptr, on_host) == "");
  for (int rank = 0; rank < 2; ++rank) {
    CHECK(same_floats(after[rank], before[rank]));
    CHECK(same_floats(on_host[rank], before[rank]));
  }
}
