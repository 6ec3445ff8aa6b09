// SPDX-License-Identifier: Apache-2.0
//
// Sessions over NCCL, which a library of the tests is, on a GPU, which the emulated driver is: codes come to the bytes
// of sessions over loopback, and what rounds do not permit is refused by name.
#include <catch2/catch.hpp>

#include <cmath>
#include <fstream>
#include <iterator>

#include "casync/planner/model_file.h"
#include "compll/codec/coded/coded_codec.h"
#include "compll/codec/registry.h"
#include "tests/compll/cuda/emulated/driver.h"
#include "tests/runtime/session/device_runs.h"
#include "tests/runtime/session/nccl_cases.h"
#include "tests/runtime/session/plan_file.h"
#include "tests/runtime/session/ways.h"
#include "tests/support/nccl/fake_nccl.h"
#include "tests/support/ranks.h"

using namespace casync;              // NOLINT(google-build-using-namespace)
using namespace casync::test;        // NOLINT(google-build-using-namespace)
using namespace casync::test::nccl;  // NOLINT(google-build-using-namespace)

TEST_CASE("session over nccl: the bytes of every codec are those over loopback, by ps") {
  for (const std::string& codec : compll::codec_names()) {
    if (codec == "none" || codec == "powersgd" || compll::size_varies(**compll::make_codec(codec, {}))) continue;
    INFO(codec);
    CHECK(compare(2, plan_of(codec)) == "");
  }
}

TEST_CASE("session over nccl: the bytes are those over loopback, of 1 to 4 ranks and all bundles of rounds") {
  for (const int ranks : {1, 3, 4}) {
    for (const char* codec : {"int4", "onebit", "topk", "diana", "signsgd"}) {
      INFO(codec << ", " << ranks << " ranks");
      CHECK(compare(ranks, plan_of(codec)) == "");
      CHECK(compare(ranks, "fusion_bytes: 0 " + plan_of(codec)) == "");
    }
  }
}

TEST_CASE("session over nccl: the bytes are those over loopback, by every strategy") {
  for (const Way& way : ways_of(4)) {
    for (const char* codec : {"int4", "topk", "onebit"}) {
      INFO(codec << ", " << way.strategy << " " << way.nodes);
      const std::string plan = plan_of(codec, "partitions: 3 strategy: " + way.strategy);
      AllSeen host;
      if (!run(4, false, plan, host, gaussians, DType::kFloat32, way.nodes).empty()) continue;  // it refuses this codec
      CHECK(compare(4, plan, gaussians, DType::kFloat32, way.nodes) == "");
    }
  }
}

TEST_CASE("session over nccl: a scattered gradient is refused by name") {
  CHECK(sessions(1, "int4", [](Session& session, RankContext&) -> std::string {
          GradientSpec spec{"shards", DType::kFloat32, {64}, 0};
          spec.scattered = true;
          const std::string said = session.declare(spec).status().text();
          return said.starts_with("Unimplemented: gradient shards: over nccl owners of shards") ? "" : said;
        }) == "");
}

TEST_CASE("session over nccl: gradients in half precision have the bytes of those over loopback") {
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    for (const char* codec : {"none", "int4", "topk", "diana", "bf16", "signsgd"}) {
      INFO(codec << " of " << name_of(dtype));
      CHECK(compare(3, plan_of(codec), awkward_for_halves, dtype) == "");
    }
  }
}

TEST_CASE("session over nccl: a result that is too large for float16 is not finite, as over loopback") {
  for (const char* codec : {"none", "int8", "powersgd"}) {
    INFO(codec);
    const PlanFile plan("seed: 5 " + plan_of(codec));
    AllSeen seen[2];
    for (const bool with_nccl : {false, true}) {
      const auto configure = [&](SessionOptions& options) {
        options.plan_file = plan.path();
        options.op = ReduceOp::kSum;
        if (with_nccl) over_nccl(options);
      };
      CHECK(run_steps(2, with_nccl, configure, seen[with_nccl], too_large_for_float16, "loopback", DType::kFloat16) ==
            "");
    }
    CHECK(difference(seen[0], seen[1]) == "");
    for (const Seen& rank : seen[1]) CHECK(rank.steps == std::vector<std::string>{"1", "0g0", "1"});
  }
}

TEST_CASE("session over nccl: half precision takes no pass of its own, neither a launch nor a copy more than float32") {
  const auto calls_of = [](const char* codec, DType dtype) {
    const auto calls = [] {
      return compll::emulated::calls("cuLaunchKernel") + compll::emulated::calls("cuMemcpyDtoDAsync_v2");
    };
    const std::uint64_t before = calls();
    AllSeen seen;
    CHECK(run(2, true, plan_of(codec), seen, gaussians, dtype) == "");
    return calls() - before;
  };
  for (const char* codec : {"int4", "topk", "diana"}) {
    INFO(codec);
    const std::uint64_t of_floats = calls_of(codec, DType::kFloat32);
    CHECK(calls_of(codec, DType::kFloat16) == of_floats);
    CHECK(calls_of(codec, DType::kBFloat16) == of_floats);
  }
}

TEST_CASE("session over nccl: exchanges of a codec in its turns are all-reduced") {
  for (const DType dtype : {DType::kFloat32, DType::kFloat16}) {
    CHECK(compare(1, plan_of("powersgd"), gaussians, dtype) == "");
    CHECK(compare(2, plan_of("powersgd"), gaussians, dtype) == "");  // a sum of two terms has one order
  }
  AllSeen device;
  REQUIRE(run(4, true, plan_of("powersgd"), device) == "");
  for (const Seen& seen : device) {
    CHECK(seen.gradients == device[0].gradients);
    CHECK(seen.steps == device[0].steps);
  }
}

TEST_CASE("session over nccl: servers, also such that contribute nothing") {
  for (const char* codec : {"int4", "topk"}) {
    CHECK(compare(3, plan_of(codec, "strategy: ps partitions: 4 servers: 2")) == "");
  }
  for (const char* codec : {"none", "int4", "onebit"}) {
    CHECK(compare(3, plan_of(codec, "strategy: ps partitions: 4 servers: 1 dedicated: true")) == "");
  }
}

TEST_CASE("session over nccl: steps of warm-up") {
  CHECK(compare(2, plan_of("topk", "strategy: ps partitions: 3 warm_up_steps: 2")) == "");
  CHECK(compare(2, plan_of("powersgd", "strategy: ring warm_up_steps: 1")) == "");
  const std::string from = "strategy: ps warm_up_steps: 2 warm_up_from { key: \"ratio\" value: 0.5 }";
  CHECK(compare(3, plan_of("topk", from)) == "");
  const std::string some = "rule { match: \"g1\" codec { name: \"int8\" } strategy: ring warm_up_steps: 1 } ";
  CHECK(compare(2, some + plan_of("int4", "strategy: ps warm_up_steps: 2")) == "");
}

TEST_CASE("session over nccl: staleness") {
  for (const int staleness : {1, 2}) {
    const std::string mode = "staleness: " + std::to_string(staleness) + " ";
    for (const int ranks : {1, 2, 4}) {
      for (const char* codec : {"int4", "topk", "diana"}) {
        INFO(codec << ", staleness " << staleness << ", " << ranks << " ranks");
        CHECK(compare(ranks, mode + plan_of(codec)) == "");
      }
    }
    CHECK(compare(2, mode + plan_of("none")) == "");
    CHECK(compare(2, mode + plan_of("powersgd")) == "");
    CHECK(compare(3, mode + plan_of("int4", "strategy: ring")) == "");
    CHECK(compare(2, mode + plan_of("int4", "strategy: ps warm_up_steps: 1")) == "");
    CHECK(compare(2, mode + plan_of("int8"), awkward_for_halves, DType::kBFloat16) == "");
  }
}

TEST_CASE("session over nccl: groups") {
  for (const int ranks : {1, 2, 4}) {
    for (const char* mode : {"", "staleness: 1 "}) {
      for (const char* members : {R"(gradient: ["g0", "g2"])", R"(gradient: ["g0", "g1", "g2"])"}) {
        for (const char* codec : {"int4", "topk"}) {
          INFO(codec << ", " << mode << members << ", " << ranks << " ranks");
          CHECK(compare(ranks, std::string(mode) + "group { name: \"together\" " + members + " } " + plan_of(codec)) ==
                "");
        }
      }
    }
  }
}

TEST_CASE("session over nccl: another codec on the second hop") {
  CHECK(compare(3, plan_of("topk", "second_hop { name: \"int8\" } strategy: ps partitions: 2")) == "");
  CHECK(compare(3, plan_of("int4", "second_hop { name: \"none\" } strategy: ps partitions: 2")) == "");
  CHECK(compare(3, plan_of("none", "second_hop { name: \"int4\" } strategy: ps partitions: 2")) == "");
}

TEST_CASE("session over nccl: gradients that no codec changes are all-reduced, alike on all ranks") {
  for (const int ranks : {1, 2, 4}) {
    AllSeen host, device;
    const std::uint64_t before = fake_nccl::calls("ncclAllReduce"), sends = fake_nccl::calls("ncclSend");
    REQUIRE(run(ranks, true, plan_of("none"), device) == "");
    CHECK(fake_nccl::calls("ncclSend") == sends);
    CHECK(fake_nccl::calls("ncclAllReduce") > before);
    REQUIRE(run(ranks, false, plan_of("none"), host) == "");
    for (std::size_t rank = 0; rank < device.size(); ++rank) {
      CHECK(device[rank].gradients == device[0].gradients);
      CHECK(device[rank].steps == host[rank].steps);
      for (std::size_t i = 0; i < device[rank].gradients.size(); ++i) {
        for (std::size_t e = 0; e < device[rank].gradients[i].size(); ++e) {
          const float is = device[rank].gradients[i][e], should = host[rank].gradients[i][e];
          REQUIRE(std::abs(is - should) <= 1e-5f * (1 + std::abs(should)));  // another order of additions
        }
      }
    }
  }
}

TEST_CASE("session over nccl: some gradients are compressed and others are not") {
  const std::string plan = "rule { match: \"g1\" codec { name: \"none\" } } " + plan_of("int8");
  AllSeen host, device;
  REQUIRE(run(2, false, plan, host) == "");
  REQUIRE(run(2, true, plan, device) == "");
  CHECK(difference(host, device) == "");  // of two ranks the order of additions is one
}

TEST_CASE("session over nccl: a record has the gradients and the samples that the host has") {
  std::string samples[2];
  for (const bool with_nccl : {false, true}) {
    TemporaryDirectory folder;
    const auto configure = [&](SessionOptions& options) {
      options.codec = CodecChoice{"int8", {}};
      options.record_directory = folder.path();
      if (with_nccl) over_nccl(options);
    };
    AllSeen seen;
    REQUIRE(run_steps(2, with_nccl, configure, seen) == "");
    std::ifstream file(folder.path() + "/gradients.safetensors", std::ios::binary);
    samples[with_nccl ? 1 : 0] = {std::istreambuf_iterator<char>(file), {}};
    const Result<Training> training = read_model_file(folder.path() + "/model.txtpb");
    REQUIRE(training.status().text() == "OK");
    CHECK(training->gradients.size() == std::size(kSizes));
  }
  CHECK(samples[0].size() > 100);
  CHECK((samples[0] == samples[1]));
}

TEST_CASE("session over nccl: ranks may submit in any order within a step") {
  std::vector<std::vector<float>> results[2];
  const std::string complaints = sessions(2, "int8", [&](Session& session, RankContext& context) -> std::string {
    Program program;
    std::vector<GradientId> ids;
    std::vector<Program::Floats> floats;
    for (int i = 0; i < 3; ++i) {
      ids.push_back(*declare(session, "g" + std::to_string(i), 1000));
      floats.push_back(program.floats(1000));
    }
    for (std::uint32_t step = 0; step < 3; ++step) {
      for (std::size_t k = 0; k < 3; ++k) {
        const std::size_t i = context.rank == 0 ? k : 2 - k;
        program.write(floats[i], contribution(context.rank, 1000, 3 * step + static_cast<std::uint32_t>(i)));
        const Submission one = program.submission(ids[i], floats[i]);
        if (const auto handles = session.submit({&one, 1}); !handles) return handles.status().text();
      }
      if (const auto done = session.step(); !done) return done.status().text();
      for (const Program::Floats& one : floats) results[context.rank].push_back(program.read(one));
    }
    return "";
  });
  CHECK(complaints == "");
  CHECK(results[0] == results[1]);
  CHECK(results[0].size() == 9);
}

TEST_CASE("session over nccl: a state goes on where it was taken, also when a step is done again") {
  SessionState taken[2];
  std::vector<float> before[2], after[2];
  const auto steps = [&](std::uint32_t from, const SessionState* loaded, SessionState* state,
                         std::vector<float>* last) {
    return sessions(2, "int4", [&](Session& session, RankContext& context) -> std::string {
      Gradients gradients(session, true);
      if (Status status = gradients.declare_all(); !status) return status.text();
      for (std::uint32_t step = from; step < 4; ++step) {
        for (std::uint32_t lost = 0; step == from && loaded != nullptr && lost <= from; ++lost) {
          std::vector<std::vector<float>> all = gaussians(context.rank, lost + 100);
          if (const auto done = gradients.step(all); !done) return done.status().text();
        }
        if (step == from && loaded != nullptr) {
          if (Status status = session.load_state(loaded[context.rank]); !status) return status.text();
        }
        std::vector<std::vector<float>> all = gaussians(context.rank, step);
        if (const auto done = gradients.step(all); !done) return done.status().text();
        if (state != nullptr && step == 1) state[context.rank] = *session.state();
        last[context.rank] = all[0];
      }
      return "";
    });
  };
  CHECK(steps(0, nullptr, taken, before) == "");
  CHECK(steps(2, taken, nullptr, after) == "");
  for (int rank = 0; rank < 2; ++rank) CHECK(same_floats(after[rank], before[rank]));
}

TEST_CASE("session over nccl: with less memory for residuals the bytes are those over loopback") {
  for (const char* codec : {"int4", "topk", "diana"}) {
    INFO(codec);
    CHECK(compare(3, plan_of(codec, "partitions: 3 residual_memory: one_buffer"), large_gaussians) == "");
    if (codec == std::string_view("diana")) continue;  // it keeps a state of its own
    CHECK(compare(3, plan_of(codec, "partitions: 3 residual_memory: bfloat16"), large_gaussians) == "");
  }
}

TEST_CASE("session over nccl: a steady step neither allocates on the device nor waits for it") {
  const char* const forbidden[] = {"cuMemAlloc_v2", "cuMemFree_v2",  "cuMemHostAlloc",      "cuMemFreeHost",
                                   "cuEventCreate", "pageable copy", "cuStreamSynchronize", "cuModuleLoadData"};
  std::string counted;
  const std::string complaints = sessions(1, "int8", [&](Session& session, RankContext&) -> std::string {
    Program program;
    const Result<GradientId> id = declare(session, "layer", 5000);
    auto floats = program.floats(5000);
    std::map<std::string, std::uint64_t> before;
    for (std::uint32_t step = 0; step < 5; ++step) {
      if (step == 2) {
        for (const char* name : forbidden) before[name] = compll::emulated::calls(name);
      }
      program.write(floats, contribution(0, 5000, step));
      const Submission one = program.submission(*id, floats);
      const auto handles = session.submit({&one, 1});
      const Status status = handles ? session.step().status() : handles.status();
      if (!status) return status.text();
    }
    for (const char* name : forbidden) {
      const std::uint64_t more = compll::emulated::calls(name) - before[name];
      if (more > 0) counted += std::string(name) + ": " + std::to_string(more) + "; ";
    }
    return session.stats().transport.starts_with("nccl 2.30.7, 1 ranks, beside ") ? "" : session.stats().transport;
  });
  CHECK(complaints == "");
  CHECK(counted == "");
}
