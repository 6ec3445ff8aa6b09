// SPDX-License-Identifier: Apache-2.0
//
// Failures and refusals of sessions on a GPU: with the call, the gradient and what to do, never with zeros.
#include <catch2/catch.hpp>
#include <fstream>

#include "tests/compll/cuda/emulated/driver.h"
#include "tests/runtime/session/gpu.h"
#include "tests/runtime/session/gradients.h"
#include "tests/support/ranks.h"

using namespace casync;        // NOLINT(google-build-using-namespace)
using namespace casync::test;  // NOLINT(google-build-using-namespace)

namespace {

namespace emulated = compll::emulated;

std::function<void(SessionOptions&)> device_codec(const std::string& name) {
  return [name](SessionOptions& options) {
    options.codec = CodecChoice{name, {}};
    on_gpu(options);
  };
}

std::string opened(const std::function<void(SessionOptions&)>& configure) {
  return with_sessions(1, configure, [](Session&, RankContext&) -> std::string { return "it opened"; });
}

}  // namespace

TEST_CASE("session on a GPU: a kernel that faults ends the job on all ranks, with the call and the gradient") {
  for (const int kernels : {0, 1, 5}) {
    emulated::mend_device();
    const std::string complaints =
        with_sessions(2, device_codec("int4"), [&](Session& session, RankContext& context) -> std::string {
          Program program;
          const Result<GradientId> id = declare(session, "layer", 5000);
          auto floats = program.floats(5000);
          for (std::uint32_t step = 0; step < 4; ++step) {
            program.write(floats, contribution(context.rank, 5000, step));
            const Submission one = program.submission(*id, floats);
            if (step == 1 && context.rank == 0) emulated::break_after_kernels(kernels);
            const auto handles = session.submit({&one, 1});
            const Status status = handles ? session.step().status() : handles.status();
            if (!status) return status.text();
          }
          return "it went well";
        });
    emulated::mend_device();
    INFO(complaints);
    CHECK_THAT(complaints, !Catch::Contains("it went well"));
    CHECK_THAT(complaints, Catch::Contains("rank 0: Unavailable") && Catch::Contains("rank 1: Unavailable"));
    CHECK_THAT(complaints, Catch::Contains("an illegal memory access was encountered (CUDA 700)"));
    CHECK_THAT(complaints, Catch::Contains("gradient layer"));
  }
}

TEST_CASE("session on a GPU: no memory is an error of the step, with the gradient or the amount") {
  const std::string complaints =
      with_sessions(1, device_codec("int4"), [&](Session& session, RankContext&) -> std::string {
        Program program;
        const Result<GradientId> id = declare(session, "layer", 5000);
        const auto floats = program.floats(5000);
        emulated::set_device_memory(1000);
        const Submission one = program.submission(*id, floats);
        const auto handles = session.submit({&one, 1});
        const Status status = handles ? session.step().status() : handles.status();
        emulated::set_device_memory(~std::size_t{0} / 2);
        return status.text();
      });
  CHECK_THAT(complaints, Catch::Contains("Unavailable") && Catch::Contains("out of memory (CUDA 2)") &&
                             Catch::Contains("bytes of memory of the device"));
}

TEST_CASE("session on a GPU: a codec that exchanges more than sums is refused by name") {
  const std::string complaints =
      with_sessions(1, device_codec("terngrad_shared"), [&](Session& session, RankContext&) -> std::string {
        Program program;
        const Result<GradientId> id = declare(session, "layer", 5000);
        if (!id) return id.status().text();
        const auto floats = program.floats(5000);
        const Submission one = program.submission(*id, floats);
        const auto handles = session.submit({&one, 1});
        return (handles ? session.step().status() : handles.status()).text();
      });
  CHECK_THAT(complaints, Catch::Contains("Unimplemented") &&
                             Catch::Contains("gradient layer: codec `terngrad_shared` exchanges more than sums"));
}

TEST_CASE("session on a GPU: what it does not do yet is refused by name") {
  TemporaryDirectory directory;
  std::ofstream(directory.path() + "/plan.txtpb") << "version: 1 staleness: 1";
  const std::string stale = opened([&](SessionOptions& options) {
    options.plan_file = directory.path() + "/plan.txtpb";
    on_gpu(options);
  });
  CHECK_THAT(stale, Catch::Contains("Unimplemented: a session on cuda:0 has no staleness yet"));
  std::ofstream(directory.path() + "/groups.txtpb") << "version: 1 group { name: \"g\" gradient: \"a\" }";
  const std::string groups = opened([&](SessionOptions& options) {
    options.plan_file = directory.path() + "/groups.txtpb";
    on_gpu(options);
  });
  CHECK_THAT(groups, Catch::Contains("Unimplemented: a session on cuda:0 has no groups yet"));
  const std::string records = opened([&](SessionOptions& options) {
    options.record_directory = directory.path();
    on_gpu(options);
  });
  CHECK_THAT(records, Catch::Contains("Unimplemented: a session on cuda:0 records no model yet"));
}

TEST_CASE("session on a GPU: memory of another place is refused, and nothing was started") {
  const auto host = with_sessions(1, device_codec("int4"), [](Session& session, RankContext&) -> std::string {
    const Result<GradientId> id = declare(session, "layer", 100);
    std::vector<float> values(100);
    const Submission one{*id, view_of(values)};
    const Submission hidden{*id, {}, runtime::DeviceView::of(values.data(), 400)};
    return session.submit({&one, 1}).status().text() + "; " + session.submit({&hidden, 1}).status().text();
  });
  CHECK(host ==
        "rank 0: InvalidArgument: gradient layer: its memory is the host's, and the session is on cuda:0; "
        "InvalidArgument: gradient layer: its memory is the host's, and the session is on cuda:0\n");
  const auto device = with_sessions(1, codec("int4"), [](Session& session, RankContext&) -> std::string {
    Program program;
    const auto floats = program.floats(100);
    const Submission one = program.submission(*declare(session, "layer", 100), floats);
    return session.submit({&one, 1}).status().text();
  });
  CHECK_THAT(device, Catch::Contains("its memory is on a device, and the session is on the CPU"));
}

TEST_CASE("session on a GPU: ranks on different kinds of devices do not begin") {
  const std::string complaints = with_sessions(
      2,
      [](SessionOptions& options) {
        if (*options.launch.rank == 1) on_gpu(options);
      },
      [](Session&, RankContext&) -> std::string { return "it opened"; });
  CHECK_THAT(complaints, Catch::Contains("kind of device") && Catch::Contains("cpu") && Catch::Contains("cuda"));
  CHECK_THAT(complaints, !Catch::Contains("it opened"));
}

TEST_CASE("session on a GPU: a device's name that is none") {
  const std::string complaints = opened([](SessionOptions& options) { options.device = "gpu"; });
  CHECK_THAT(complaints, Catch::Contains("InvalidArgument: device `gpu`, expected cpu, cuda or cuda:0 and so on"));
}
