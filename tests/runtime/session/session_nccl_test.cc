// SPDX-License-Identifier: Apache-2.0
//
// Sessions over NCCL, which a library of the tests is, on a GPU, which the emulated driver is: codes come to the bytes
// of sessions over loopback, and what rounds do not permit is refused by name.
#include <catch2/catch.hpp>
#include <chrono>
#include <cmath>
#include <fstream>
#include <limits>
#include <thread>

#include "compll/codec/coded/coded_codec.h"
#include "compll/codec/registry.h"
#include "runtime/collective/nccl/nccl_api.h"
#include "runtime/transport/loopback/factory.h"
#include "tests/compll/cuda/emulated/driver.h"
#include "tests/runtime/session/device_runs.h"
#include "tests/runtime/session/ways.h"
#include "tests/support/nccl/fake_nccl.h"
#include "tests/support/ranks.h"

using namespace casync;        // NOLINT(google-build-using-namespace)
using namespace casync::test;  // NOLINT(google-build-using-namespace)

namespace {

using runtime::NcclApi;

using Configure = std::function<void(SessionOptions&)>;

/// Over NCCL, with loopback beside it.
void over_nccl(SessionOptions& options) {
  fake_nccl::use(gpu_driver());
  options.transport = "nccl";
  options.open_transport = [](const TransportOptions& opened) { return runtime::make_loopback(opened); };
}

/// A plan in a file of its own.
class PlanFile {
 public:
  explicit PlanFile(const std::string& plan) : path_(directory_.path() + "/plan.txtpb") {
    std::ofstream(path_) << "version: 1 seed: 5 " << plan << "\n";
  }
  const std::string& path() const { return path_; }

 private:
  TemporaryDirectory directory_;
  std::string path_;
};

std::string plan_of(const std::string& codec, const std::string& more = "strategy: ps partitions: 3") {
  return "default { codec { name: \"" + codec + "\" } " + more + " }";
}

/// The steps of device_runs.h by this plan; "" or the complaints.
std::string run(int ranks, bool with_nccl, const std::string& plan, AllSeen& seen, const Values& values = gaussians,
                DType dtype = DType::kFloat32, const std::string& nodes = "") {
  const PlanFile file(plan);
  const Configure configure = [&](SessionOptions& options) {
    options.plan_file = file.path();
    if (!nodes.empty()) options.launch.node = nodes.substr(static_cast<std::size_t>(*options.launch.rank), 1);
    if (with_nccl) over_nccl(options);
  };
  return run_steps(ranks, with_nccl, configure, seen, values, "loopback", dtype);
}

/// The difference between sessions over NCCL and sessions on the host over loopback.
std::string compare(int ranks, const std::string& plan, const Values& values = gaussians, DType dtype = DType::kFloat32,
                    const std::string& nodes = "") {
  AllSeen host, device;
  if (std::string bad = run(ranks, false, plan, host, values, dtype, nodes); !bad.empty()) return "host: " + bad;
  if (std::string bad = run(ranks, true, plan, device, values, dtype, nodes); !bad.empty()) return "over nccl: " + bad;
  return difference(host, device);
}

/// Sessions on a GPU over NCCL with one codec for all.
std::string sessions(int ranks, const std::string& codec,
                     const std::function<std::string(Session&, RankContext&)>& body, double timeout_s = 30) {
  return with_sessions(
      ranks,
      [&](SessionOptions& options) {
        options.codec = CodecChoice{codec, {}};
        options.timeout_s = timeout_s;
        on_gpu(options);
        over_nccl(options);
      },
      body);
}

/// Opens a session of one rank; its status.
std::string opened(const Configure& configure) {
  return with_sessions(1, configure, [](Session&, RankContext&) -> std::string { return "it opened"; });
}

}  // namespace

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

TEST_CASE("session over nccl: gradients in half precision have the bytes of those over loopback") {
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    for (const char* codec : {"none", "int4", "topk", "diana", "bf16", "signsgd"}) {
      INFO(codec << " of " << name_of(dtype));
      CHECK(compare(3, plan_of(codec), awkward_for_halves, dtype) == "");
    }
  }
}

TEST_CASE("session over nccl: what a codec exchanges in its turns is all-reduced") {
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

TEST_CASE("session over nccl: waiting for a gradient before an earlier one is submitted ends by naming that") {
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

TEST_CASE("session over nccl: what NCCL reports later ends the job on all ranks, with its words") {
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

TEST_CASE("session over nccl: what it does not do is refused by name, with what to do instead") {
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

TEST_CASE("session over nccl: a communicator that is never ready ends the opening at the session's time limit") {
  fake_nccl::hold_inits(true);
  const std::string complaints = sessions(
      2, "none", [](Session&, RankContext&) -> std::string { return "it opened"; }, 1);
  fake_nccl::reset();
  CHECK_THAT(complaints, Catch::Contains("rank 0: open: Timeout") && Catch::Contains("rank 1: open: Timeout") &&
                             Catch::Contains("a communicator of 2 ranks was not ready in time"));
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
