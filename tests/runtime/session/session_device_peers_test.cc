// SPDX-License-Identifier: Apache-2.0
//
// Ranks of one process on an emulated machine of two GPUs, and a rank that ends while another one's copies are under
// way.
#include <array>
#include <atomic>
#include <barrier>
#include <catch2/catch.hpp>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/compll/cuda/emulated/driver.h"
#include "tests/compll/cuda/emulated/streams.h"
#include "tests/runtime/session/device_cases.h"
#include "tests/runtime/session/plan_file.h"
#include "tests/support/kept_for_ever.h"

using namespace casync;                // NOLINT(google-build-using-namespace)
using namespace casync::test;          // NOLINT(google-build-using-namespace)
using namespace casync::test::device;  // NOLINT(google-build-using-namespace)

namespace {

namespace emulated = compll::emulated;

// As many partitions as ranks: each rank has one to send.
constexpr std::size_t kOfPeers = 5000;

/// A program's gradient, which stays: a device may read it when the test is over.
struct Layer {
  explicit Layer(Session& session) : id(*declare(session, "layer", kOfPeers)), floats(program.floats(kOfPeers)) {}
  Status submit(Session& session, std::uint32_t step) {
    program.write(floats, contribution(session.rank(), kOfPeers, step));
    const Submission one = program.submission(id, floats);
    return session.submit({&one, 1}).status();
  }

  Program program;
  GradientId id;
  Program::Floats floats;
};
Layer& layer_for_ever(Session& session) {
  static std::atomic<std::size_t> count{0};
  static auto& all = *new std::array<std::unique_ptr<Layer>, 16>;
  return *(all.at(count++) = std::make_unique<Layer>(session));
}

/// Until a lane has the gradient's first task.
void wait_until_begun(std::uint64_t calls_before) {
  const Clock::time_point latest = after(Seconds(20));
  while (emulated::calls("cuLaunchHostFunc") == calls_before && Clock::now() < latest) std::this_thread::yield();
}

/// The first rank's step, whose copies begin and do not go on; `meet`: they have begun.
std::string step_amid_copies(Session& session, Layer& layer, bool rests, std::barrier<>& meet) {
  const std::uint64_t calls = emulated::calls("cuLaunchHostFunc");
  emulated::hold_streams();
  Status status = layer.submit(session, 1);
  if (status) wait_until_begun(calls);
  meet.arrive_and_wait();
  if (status) status = session.step().status();
  if (!rests) emulated::release_streams();
  return status.text();
}

/// The words of two ranks of which the second ends the job while copies of the first one are under way. `rests`: they
/// end soon after that.
std::string end_amid_copies(const PlanFile& plan, bool rests) {
  std::barrier<> meet(2);
  return run_ranks(2, [&](RankContext& context) -> std::string {
    const KeptForEver on_purpose;
    on_gpu_by(plan)(context.options);
    if (!rests) context.options.timeout_s = 6;  // of which half is for the copies
    Result<std::unique_ptr<Session>> session = Session::open(context.options);
    if (!session) return session.status().text();
    Layer& layer = layer_for_ever(**session);
    Status status = layer.submit(**session, 0);
    if (status) status = (*session)->step().status();
    meet.arrive_and_wait();
    if (!status) {
      meet.arrive_and_drop();
      return status.text();
    }
    std::string said;
    if (context.rank == 0) {
      said = step_amid_copies(**session, layer, rests, meet);
    } else {
      meet.arrive_and_wait();
      (*session)->abort("enough");
      if (rests) emulated::release_streams();
    }
    static_cast<void>((*session)->close());
    return said;
  });
}

}  // namespace

TEST_CASE("session on a GPU: ranks of one process have a device each, and the host's bytes") {
  emulated::set_device_count(2);
  for (const char* codec : {"none", "int4", "topk", "powersgd", "lossless"}) {
    for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
      INFO(codec << " of " << name_of(dtype));
      const PlanFile plan("seed: 5 " + plan_of(codec, "ps"));
      CHECK(compare_both([&](bool on_device, AllSeen& seen) {
              return run_steps(3, on_device, by(plan), seen, gaussians, "loopback", dtype, false, {.devices = 2});
            }) == "");
    }
  }
  emulated::set_device_count(1);
}

TEST_CASE("session on a GPU: a rank that ends amid another one's copies is told there, also if they do not end") {
  for (const char* text : {"default { codec { name: \"none\" } partitions: 2 }",
                           "group { name: \"all\" gradient: \"layer\" codec { name: \"none\" } partitions: 2 }"}) {
    const PlanFile plan(text);
    for (const bool rests : {true, false}) {
      INFO(text << (rests ? ", they end" : ", they do not end"));
      const std::string said = end_amid_copies(plan, rests);
      CHECK_THAT(said, Catch::StartsWith("rank 0: PeerFailure: rank 1 ") && Catch::Contains("enough"));
      CHECK((said.find("memory is still in use") == std::string::npos) == rests);
      CHECK_THAT(said, !Catch::Contains("\nrank 1: "));
    }
  }
}
