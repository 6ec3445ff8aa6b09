// SPDX-License-Identifier: Apache-2.0
//
// Sessions over NCCL where something is wrong: gradients left out, late ranks, faults, and what is refused.
#include <catch2/catch.hpp>

#include <chrono>
#include <limits>
#include <thread>

#include "runtime/collective/nccl/nccl_api.h"
#include "tests/compll/cuda/emulated/driver.h"
#include "tests/runtime/session/device_runs.h"
#include "tests/runtime/session/nccl_cases.h"
#include "tests/runtime/session/plan_file.h"
#include "tests/support/nccl/fake_nccl.h"
#include "tests/support/ranks.h"

using namespace casync;              // NOLINT(google-build-using-namespace)
using namespace casync::test;        // NOLINT(google-build-using-namespace)
using namespace casync::test::nccl;  // NOLINT(google-build-using-namespace)

TEST_CASE("session over nccl: a gradient that is not finite on one rank is said by all, and residuals stay") {
  const Values values = [](int rank, std::uint32_t step) {
    std::vector<std::vector<float>> all = gaussians(rank, step);
    if (rank == 1 && step == 1) all[1][5] = std::numeric_limits<float>::infinity();
    return all;
  };
  for (const char* codec : {"none", "int8", "topk", "powersgd"}) {
    INFO(codec);
    AllSeen host, device;
    CHECK(run(2, false, plan_of(codec), host, values) == "");
    CHECK(run(2, true, plan_of(codec), device, values) == "");
    CHECK(device[0].steps == std::vector<std::string>{"1", "0g1", "1"});
    CHECK(device[1].steps == device[0].steps);
    CHECK(same_floats(device[0].states["g0"], host[0].states["g0"]));
    CHECK(same_floats(device[1].gradients[6], host[1].gradients[6]));
  }
}

TEST_CASE("session over nccl: a gradient that is left out of a step is refused by name, on all ranks") {
  for (const int forgetful : {0, 1}) {
    const std::string complaints = sessions(2, "int8", [&](Session& session, RankContext& context) -> std::string {
      Program program;
      const Result<GradientId> a = declare(session, "used", 100), b = declare(session, "unused", 100);
      auto floats = program.floats(100), more = program.floats(100);
      for (std::uint32_t step = 0; step < 3; ++step) {
        std::vector<Submission> all = {program.submission(*a, floats), program.submission(*b, more)};
        if (step == 1 && context.rank == forgetful) all.pop_back();
        const auto handles = session.submit(all);
        const Status status = handles ? session.step().status() : handles.status();
        if (!status) return status.text();
      }
      return "it went well";
    });
    CHECK_THAT(complaints,
               Catch::Contains("rank 0: InvalidArgument: ") && Catch::Contains("rank 1: InvalidArgument: "));
    CHECK_THAT(complaints, Catch::Contains("gradient unused was not submitted in step 1: over nccl") &&
                               !Catch::Contains("it went well"));
  }
}

TEST_CASE("session over nccl: waiting for a gradient while an earlier one is not submitted ends by naming that") {
  const std::string complaints = sessions(1, "int8", [&](Session& session, RankContext&) -> std::string {
    Program program;
    const Result<GradientId> a = declare(session, "early", 40000), b = declare(session, "late", 40000);
    auto floats = program.floats(40000), more = program.floats(40000);
    const std::vector<Submission> both = {program.submission(*a, floats), program.submission(*b, more)};
    if (const auto handles = session.submit(both); !handles) return handles.status().text();
    if (const auto done = session.step(); !done) return done.status().text();
    const auto handles = session.submit({&both[1], 1});
    if (!handles) return handles.status().text();
    const Status late = session.wait(handles->front(), 0.3);
    if (const auto rest = session.submit({&both[0], 1}); !rest) return rest.status().text();
    if (const auto done = session.step(); !done) return done.status().text();
    return late.text();
  });
  CHECK_THAT(complaints, Catch::Contains("rank 0: Timeout: gradient late, step 1") &&
                             Catch::Contains("gradient early, which was declared earlier or travels with it, was not "
                                             "submitted here"));
}

TEST_CASE("session over nccl: a rank that does not come to a step is a Timeout, and the others are at rest then") {
  const auto begun = std::chrono::steady_clock::now();
  const std::string complaints = sessions(
      2, "int8",
      [&](Session& session, RankContext& context) -> std::string {
        Program program;
        const Result<GradientId> id = declare(session, "layer", 5000);
        auto floats = program.floats(5000);
        for (std::uint32_t step = 0; step < 2; ++step) {
          program.write(floats, contribution(context.rank, 5000, step));
          if (step == 1 && context.rank == 1) {
            std::this_thread::sleep_for(std::chrono::seconds(4));
            return "";
          }
          const Submission one = program.submission(*id, floats);
          const auto handles = session.submit({&one, 1});
          const Status status = handles ? session.step().status() : handles.status();
          if (!status) return status.text();
        }
        return "it went well";
      },
      2);
  CHECK(std::chrono::steady_clock::now() - begun < std::chrono::seconds(20));
  CHECK_THAT(complaints, Catch::Contains("rank 0: Timeout: ") && Catch::Contains("gradient layer, step 1: not done") &&
                             Catch::Contains("some rank has not come to them"));
  CHECK(fake_nccl::waiting() == 0);
}

TEST_CASE("session over nccl: a rank that needs nothing more leaves, and one that does is told so at once") {
  for (const std::uint32_t steps_of_0 : {2u, 3u}) {
    const std::string complaints = sessions(2, "none", [&](Session& session, RankContext& context) -> std::string {
      Program program;
      const Result<GradientId> id = declare(session, "layer", 5000);
      auto floats = program.floats(5000);
      for (std::uint32_t step = 0; step < (context.rank == 0 ? steps_of_0 : 2); ++step) {
        program.write(floats, contribution(context.rank, 5000, step));
        const Submission one = program.submission(*id, floats);
        const auto handles = session.submit({&one, 1});
        const Status status = handles ? session.step().status() : handles.status();
        if (!status) return status.text();
      }
      return "";
    });
    if (steps_of_0 == 2) CHECK(complaints == "");
    if (steps_of_0 == 3) {
      CHECK_THAT(complaints, Catch::Contains("rank 0: PeerFailure: rank 1") && Catch::Contains("left the job"));
    }
    CHECK(fake_nccl::waiting() == 0);
  }
}

TEST_CASE("session over nccl: failures that NCCL reports later end the job on all ranks, with its words") {
  const std::string complaints = sessions(2, "int8", [&](Session& session, RankContext& context) -> std::string {
    Program program;
    const Result<GradientId> id = declare(session, "layer", 5000);
    auto floats = program.floats(5000);
    for (std::uint32_t step = 0; step < 3; ++step) {
      program.write(floats, contribution(context.rank, 5000, step));
      if (step == 1 && context.rank == 0) fake_nccl::fail(0, NcclApi::kRemoteError);
      const Submission one = program.submission(*id, floats);
      const auto handles = session.submit({&one, 1});
      const Status status = handles ? session.step().status() : handles.status();
      if (!status) return status.text();
    }
    return "it went well";
  });
  CHECK_THAT(complaints, Catch::Contains("rank 0: PeerFailure: ") && Catch::Contains("rank 1: PeerFailure: ") &&
                             Catch::Contains("rank 0: NCCL 2.30.7: ncclCommGetAsyncError: remote process exited") &&
                             !Catch::Contains("it went well"));
  CHECK(fake_nccl::waiting() == 0);
}

TEST_CASE("session over nccl: a kernel that faults ends the job with the gradient and the step") {
  const std::string complaints = sessions(2, "int4", [&](Session& session, RankContext& context) -> std::string {
    Program program;
    const Result<GradientId> id = declare(session, "layer", 5000);
    auto floats = program.floats(5000);
    for (std::uint32_t step = 0; step < 4; ++step) {
      program.write(floats, contribution(context.rank, 5000, step));
      const Submission one = program.submission(*id, floats);
      if (step == 1 && context.rank == 0) compll::emulated::break_after_kernels(1);
      const auto handles = session.submit({&one, 1});
      const Status status = handles ? session.step().status() : handles.status();
      if (!status) return status.text();
    }
    return "it went well";
  });
  compll::emulated::mend_device();
  CHECK_THAT(complaints, Catch::Contains("rank 0: Unavailable") && Catch::Contains("rank 1: Unavailable") &&
                             !Catch::Contains("it went well"));
}

TEST_CASE("session over nccl: missing features are refused by name, with what to do instead") {
  CHECK_THAT(opened([](SessionOptions& options) { over_nccl(options); }),
             Catch::Contains("InvalidArgument: the transport nccl moves memory of GPUs") && Catch::Contains("cuda:0"));
  const auto begun = std::chrono::steady_clock::now();
  fake_nccl::refuse("ncclGetUniqueId", NcclApi::kSystemError);
  const std::string unreachable =
      sessions(2, "none", [](Session&, RankContext&) -> std::string { return "it opened"; });
  fake_nccl::reset();
  CHECK_THAT(unreachable, Catch::Contains("rank 0: open: Unavailable: ") &&
                              Catch::Contains("rank 1: open: Unavailable: ") &&
                              Catch::Contains("NCCL 2.30.7: ncclGetUniqueId: unhandled system error"));
  CHECK(std::chrono::steady_clock::now() - begun < std::chrono::seconds(15));  // the sessions' limit is 30 s
}

TEST_CASE(
    "session over nccl: with staleness a rank that does not come is a Timeout of the others, and they are at rest") {
  const PlanFile plan("staleness: 1 default { codec { name: \"int8\" } }");
  const std::string complaints = with_sessions(
      2,
      [&](SessionOptions& options) {
        options.plan_file = plan.path();
        options.timeout_s = 2;
        on_gpu(options);
        over_nccl(options);
      },
      [&](Session& session, RankContext& context) -> std::string {
        Program program;
        const Result<GradientId> id = declare(session, "layer", 5000);
        auto floats = program.floats(5000);
        for (std::uint32_t step = 0; step < 5; ++step) {
          if (step == 2 && context.rank == 1) {
            std::this_thread::sleep_for(std::chrono::seconds(4));
            return "";
          }
          program.write(floats, contribution(context.rank, 5000, step));
          const Submission one = program.submission(*id, floats);
          const auto handles = session.submit({&one, 1});
          const Status status = handles ? session.step().status() : handles.status();
          if (!status) return status.text();
        }
        return "it went well";
      });
  CHECK_THAT(complaints, Catch::Contains("rank 0: Timeout: ") && Catch::Contains("gradient layer, step 2"));
  CHECK(fake_nccl::waiting() == 0);
}

TEST_CASE("session over nccl: a group that lacks a member in a step is named, and goes on once that is there") {
  const PlanFile plan("group { name: \"both\" gradient: [\"a\", \"b\"] codec { name: \"int8\" } }");
  const std::string complaints = with_sessions(
      2,
      [&](SessionOptions& options) {
        options.plan_file = plan.path();
        on_gpu(options);
        over_nccl(options);
      },
      [&](Session& session, RankContext&) -> std::string {
        Program program;
        const Result<GradientId> a = declare(session, "a", 1000), b = declare(session, "b", 1000);
        auto floats = program.floats(1000), more = program.floats(1000);
        const std::vector<Submission> all = {program.submission(*a, floats), program.submission(*b, more)};
        if (const auto handles = session.submit({all.data(), 1}); !handles) return handles.status().text();
        const Status lacks = session.step().status();
        if (const auto handles = session.submit({&all[1], 1}); !handles) return handles.status().text();
        const Status whole = session.step().status();
        return whole ? lacks.text() : whole.text();
      });
  CHECK_THAT(complaints, Catch::Contains("rank 0: InvalidArgument: ") && Catch::Contains("rank 1: InvalidArgument: ") &&
                             Catch::Contains("group `both` has not been submitted without"));
}

TEST_CASE("session over nccl: modes in which ranks do not exchange together are refused by name") {
  for (const char* mode : {"gossip { neighbours: ring }", "asynchronous { }"}) {
    const PlanFile plan(mode);
    const std::string complaints = opened([&](SessionOptions& options) {
      options.plan_file = plan.path();
      on_gpu(options);
      over_nccl(options);
    });
    CHECK_THAT(complaints, Catch::Contains("Unimplemented: ") &&
                               Catch::Contains("over nccl all ranks join in each exchange: use the transport ucx"));
  }
}

TEST_CASE("session over nccl: coded sections are refused by name") {
  const std::string complaints = sessions(2, "topk_coded", [](Session& session, RankContext&) -> std::string {
    Program program;
    const Result<GradientId> id = declare(session, "layer", 100);
    const auto floats = program.floats(100);
    const Submission one = program.submission(*id, floats);
    const auto handles = session.submit({&one, 1});
    return (handles ? session.step().status() : handles.status()).text();
  });
  CHECK_THAT(complaints, Catch::Contains("Unimplemented: ") &&
                             Catch::Contains("gradient layer: codec `topk_coded` has") &&
                             Catch::Contains("another transport than nccl"));
}

TEST_CASE("session over nccl: exchanges of maxima and of whole numbers are refused with their reasons") {
  TemporaryDirectory folder;
  const std::string tops = folder.path() + "/tops.cll";
  std::ofstream(tops) << "codec tops { }\n"
                         "void synchronize(float* g, float* result) {\n"
                         "  result = spread(exchange(block_reduce(g, 16, magnitude), max), 16);\n"
                         "}\n";
  for (const auto& [codec, reason] : {std::pair<std::string, const char*>{"terngrad_shared", "whole numbers in a code"},
                                      {tops, "the greatest of all ranks, and a maximum of floats by nccl"}}) {
    INFO(codec);
    const std::string complaints = sessions(2, codec, [](Session& session, RankContext&) -> std::string {
      Program program;
      const Result<GradientId> id = declare(session, "layer", 1000);
      if (!id) return id.status().text();
      const auto floats = program.floats(1000);
      const Submission one = program.submission(*id, floats);
      const auto handles = session.submit({&one, 1});
      return (handles ? session.step().status() : handles.status()).text();
    });
    CHECK_THAT(complaints, Catch::Contains("Unimplemented: ") && Catch::Contains("gradient layer: codec `" + codec) &&
                               Catch::Contains(reason) && Catch::Contains("another transport than nccl"));
  }
}

TEST_CASE("session over nccl: a communicator that is never ready ends the opening at the session's time limit") {
  fake_nccl::hold_inits(true);
  const std::string complaints = sessions(
      2, "none", [](Session&, RankContext&) -> std::string { return "it opened"; }, 1);
  fake_nccl::reset();
  CHECK_THAT(complaints, Catch::Contains("rank 0: open: Timeout") && Catch::Contains("rank 1: open: Timeout") &&
                             Catch::Contains("a communicator of 2 ranks was not ready in time"));
}
