// SPDX-License-Identifier: Apache-2.0
//
// Memory and streams of a program in sessions on a GPU: gradients at any address and without elements, and streams that
// end while their gradients are reduced.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "tests/runtime/session/device_cases.h"
#include "tests/runtime/session/plan_file.h"

using namespace casync;                // NOLINT(google-build-using-namespace)
using namespace casync::test;          // NOLINT(google-build-using-namespace)
using namespace casync::test::device;  // NOLINT(google-build-using-namespace)

namespace {

constexpr std::size_t kElementsOfStream = 5000;

/// Compares sessions on the host and on a device where gradients have these places there.
std::string compare_placed(const std::string& plan, const DevicePlaces& places, DType dtype) {
  const PlanFile file("seed: 5 " + plan);
  return compare_both([&](bool on_device, AllSeen& seen) {
    return run_steps(2, on_device, by(file), seen, awkward_for_halves, "loopback", dtype, false, places);
  });
}

/// A step of one gradient, written by a stream that ends once the gradient is submitted.
std::string step_of_a_stream(Session& session, Program& program, Program::Floats& floats, GradientId id,
                             std::uint32_t step) {
  const View pinned = floats.pinned->view();
  convert(contribution(session.rank(), kElementsOfStream, step), DType::kFloat32, pinned.data);
  void* stream = nullptr;
  const std::uint64_t address = floats.memory->device().address();
  program.context([&](const auto& api) {
    api.make_stream(&stream, compll::DriverApi::kNonBlocking, 0);
    api.upload(address, pinned.data, pinned.size, stream);
  });
  Submission one = program.submission(id, floats);
  one.stream = stream;
  const Status submitted = session.submit({&one, 1}).status();
  program.context([&](const auto& api) { api.end_stream(stream); });
  return submitted ? session.step().status().text() : submitted.text();
}

}  // namespace

TEST_CASE("session on a GPU: gradients without elements, next to others, have the host's bytes") {
  const Values values = [](int rank, std::uint32_t step) {
    return std::vector<std::vector<float>>{{}, contribution(rank, 129, 7 * step + 1), {}};
  };
  for (const int ranks : {1, 2}) {
    for (const char* codec : {"none", "int4", "onebit", "topk", "diana", "signsgd", "lossless", "topk_coded"}) {
      INFO(codec << ", " << ranks << " ranks");
      CHECK(compare(ranks, plan_of(codec, "ps"), values) == "");
    }
  }
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    INFO(name_of(dtype));
    CHECK(compare(2, plan_of("int4", "ps"), values, "", "loopback", dtype) == "");
  }
  const std::string group = "group { name: \"g\" gradient: [\"g0\", \"g1\", \"g2\"] codec { name: \"int4\" } }";
  for (const std::string& plan : {group, "staleness: 1 " + plan_of("int4", "ps")}) {
    INFO(plan);
    CHECK(compare(2, plan, values) == "");
  }
}

TEST_CASE("session on a GPU: gradients at any address have the host's bytes, and nothing in front of them changes") {
  for (const char* codec : {"none", "int4", "onebit", "topk", "diana", "lossless", "powersgd"}) {
    for (const std::size_t ahead : {1, 2}) {
      for (const DType dtype : {DType::kFloat32, DType::kFloat16, DType::kBFloat16}) {
        INFO(codec << " of " << name_of(dtype) << " behind " << ahead << " elements");
        CHECK(compare_placed(plan_of(codec, "ps"), {.ahead = ahead}, dtype) == "");
      }
    }
  }
  CHECK(compare_placed(plan_of("int4", "ring"), {.ahead = 1}, DType::kFloat32) == "");
}

TEST_CASE("session on a GPU: the stream that has written a gradient may end once that is submitted") {
  for (const char* text : {"default { codec { name: \"none\" } }", "staleness: 1 default { codec { name: \"none\" } }",
                           "group { name: \"all\" gradient: \"layer\" codec { name: \"none\" } }"}) {
    INFO(text);
    const PlanFile plan(text);
    const bool is_late = std::string(text).find("staleness") != std::string::npos;
    std::vector<float> last[2];
    const auto body = [&](Session& session, RankContext& context) -> std::string {
      Program program;
      const Result<GradientId> id = declare(session, "layer", kElementsOfStream);
      auto floats = program.floats(kElementsOfStream);
      for (std::uint32_t step = 0; step < 6; ++step) {
        const std::string said = step_of_a_stream(session, program, floats, *id, step);
        if (said != "OK") return said;
      }
      last[context.rank] = program.read(floats);
      return "";
    };
    CHECK(with_sessions(2, on_gpu_by(plan), body) == "");
    for (const std::vector<float>& one : last) CHECK(one == average(2, kElementsOfStream, is_late ? 4 : 5));
  }
}
