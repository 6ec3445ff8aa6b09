// SPDX-License-Identifier: Apache-2.0
//
// A steady step on a GPU: which calls of the driver it may not make, and what it does not wait for.
#include <atomic>
#include <barrier>
#include <catch2/catch.hpp>
#include <map>
#include <thread>

#include "tests/compll/cuda/emulated/driver.h"
#include "tests/compll/cuda/emulated/streams.h"
#include "tests/runtime/session/emulated_steps.h"

using namespace casync;        // NOLINT(google-build-using-namespace)
using namespace casync::test;  // NOLINT(google-build-using-namespace)

namespace {

namespace emulated = compll::emulated;

}  // namespace

TEST_CASE("session on a GPU: a steady step allocates nothing and waits for nothing") {
  const PlanFile late("staleness: 1 default { codec { name: \"int4\" } }");
  const PlanFile one_buffer("default { codec { name: \"int4\" } residual_memory: one_buffer }");
  const PlanFile rounded("default { codec { name: \"int4\" } residual_memory: bfloat16 }");
  const PlanFile grouped("group { name: \"all\" gradient: \"g0\" gradient: \"g1\" codec { name: \"int4\" } }");
  for (const char* name : {"none", "int4", "topk", "diana", "lossless", "topk_coded", "one buffer", "bfloat16",
                           "staleness", "recorded", "recorded group"}) {
    TemporaryDirectory record;
    CallCounts before, after;
    const auto configure = [&](SessionOptions& options) {
      const std::string_view what = name;
      const bool recorded = what.starts_with("recorded");
      if (what == "staleness" || what == "one buffer" || what == "bfloat16" || what == "recorded group") {
        const PlanFile& plan = what == "staleness"    ? late
                               : what == "one buffer" ? one_buffer
                               : what == "bfloat16"   ? rounded
                                                      : grouped;
        options.plan_file = plan.path();
      } else {
        options.codec = CodecChoice{recorded ? "int4" : name, {}};
      }
      if (recorded) options.record_directory = record.path();
      on_gpu(options);
    };
    // The small ones travel in bundles.
    const std::string complaints =
        counted_steps(2, configure, {{{5000}, {100}, {1}, {70}, {50}, {20}}}, forbidden_calls, before, after);
    INFO(name);
    CHECK(complaints == "");
    CHECK(after == before);
  }
}

TEST_CASE("session on a GPU: half precision takes no pass of its own, neither a launch nor a copy more than float32") {
  using Calls = std::pair<std::uint64_t, std::uint64_t>;
  // One partition: a gradient has no two tasks that could share a launch.
  const auto calls_of = [](const std::string& codecs, DType dtype) {
    const PlanFile plan("default { " + codecs + " strategy: ps partitions: 1 }");
    const auto calls = [] { return Calls(emulated::calls("cuLaunchKernel"), emulated::calls("cuMemcpyDtoDAsync_v2")); };
    Calls before, after;
    const std::string complaints = counted_steps(2, on_gpu_by(plan), {{{100, 52}}, dtype, 5, 2}, calls, before, after);
    CHECK(complaints == "");
    return Calls(after.first - before.first, after.second - before.second);
  };
  for (const char* codecs :
       {"codec { name: \"int4\" }", "codec { name: \"topk\" }", "codec { name: \"diana\" }",
        "codec { name: \"lossless\" }", "codec { name: \"topk\" } second_hop { name: \"int8\" }"}) {
    INFO(codecs);
    const Calls of_floats = calls_of(codecs, DType::kFloat32);
    CHECK(of_floats.first > 0);
    CHECK(calls_of(codecs, DType::kFloat16) == of_floats);
    CHECK(calls_of(codecs, DType::kBFloat16) == of_floats);
  }
  // Turns work on float32: the gradient is widened ahead of each, and the result rounded.
  const char* const turns = "codec { name: \"powersgd\" }";
  CHECK(calls_of(turns, DType::kBFloat16) > calls_of(turns, DType::kFloat32));
}

TEST_CASE("session on a GPU: submit waits for nothing, and the reduction for what the program's stream writes") {
  struct Gate {
    std::atomic<bool> open{false};
  } gate;
  std::vector<float> results[2];
  const std::string complaints = with_sessions(
      2,
      [](SessionOptions& options) {
        options.codec = CodecChoice{"none", {}};
        on_gpu(options);
      },
      [&](Session& session, RankContext& context) -> std::string {
        Program program;
        const Result<GradientId> id = declare(session, "layer", 500);
        auto floats = program.floats(500);
        program.context([&](const auto& api) {
          api.call_host(
              program.stream(),
              [](void* user) {
                while (!static_cast<Gate*>(user)->open) std::this_thread::yield();
              },
              &gate);
        });
        const std::uint64_t waits = emulated::calls("cuStreamWaitEvent");
        program.write(floats, contribution(context.rank, 500, 1));
        const Submission one = program.submission(*id, floats);
        const auto handles = session.submit({&one, 1});
        if (!handles) return handles.status().text();
        const auto until = after(Seconds(20));
        while (emulated::calls("cuStreamWaitEvent") == waits && Clock::now() < until) std::this_thread::yield();
        const bool early = session.done((*handles)[0]) && !gate.open;  // the other rank opens it, too
        gate.open = true;
        if (early) return "done while the gradient was not written";
        if (Status status = session.wait((*handles)[0], -1); !status) return status.text();
        results[context.rank] = program.read(floats);  // by a stream that waits for nothing
        return session.step().status().is_ok() ? "" : "step";
      });
  CHECK(complaints == "");
  CHECK(results[0] == average(2, 500, 1));
  CHECK(results[1] == average(2, 500, 1));
}

TEST_CASE("session on a GPU: a larger gradient is taken in while others are under way") {
  std::barrier meet(2);
  std::vector<float> results[2][2];
  const std::string complaints = with_sessions(
      2,
      [](SessionOptions& options) {
        options.codec = CodecChoice{"none", {}};
        on_gpu(options);
      },
      [&](Session& session, RankContext& context) -> std::string {
        Program program;
        std::vector<GradientId> ids = {*declare(session, "small", 100)};
        std::vector<Program::Floats> floats;
        floats.push_back(program.floats(100));
        floats.push_back(program.floats(30000));
        for (std::uint32_t step = 0; step < 3; ++step) {
          meet.arrive_and_wait();
          if (step == 1) emulated::hold_streams();
          meet.arrive_and_wait();
          for (std::size_t i = 0; i < (step == 0 ? 1u : 2u); ++i) {
            if (i == ids.size()) ids.push_back(*declare(session, "large", 30000));
            program.write(floats[i], contribution(context.rank, floats[i].count, step));
            const Submission one = program.submission(ids[i], floats[i]);
            const auto handles = session.submit({&one, 1});
            if (!handles) return handles.status().text();
          }
          meet.arrive_and_wait();
          // Until the progress threads have come to the declaration: they look for what is under way.
          const std::uint64_t looks = emulated::calls("cuEventQuery");
          const auto until = after(Seconds(1));
          while (step == 1 && emulated::calls("cuEventQuery") < looks + 300 && Clock::now() < until) {
            std::this_thread::yield();
          }
          meet.arrive_and_wait();
          emulated::release_streams();
          if (const auto done = session.step(); !done) return done.status().text();
        }
        for (std::size_t i = 0; i < 2; ++i) results[context.rank][i] = program.read(floats[i]);
        return "";
      });
  CHECK(complaints == "");
  for (const auto& rank : results) {
    CHECK(rank[0] == average(2, 100, 2));
    CHECK(rank[1] == average(2, 30000, 2));
  }
}
