// SPDX-License-Identifier: Apache-2.0
//
// Failures and refusals of sessions on a GPU: with the call, the gradient and what to do, never with zeros.
#include <barrier>
#include <catch2/catch.hpp>
#include <thread>

#include "tests/compll/cuda/emulated/driver.h"
#include "tests/compll/cuda/emulated/streams.h"
#include "tests/environment/scoped_variable.h"
#include "tests/runtime/session/emulated_steps.h"
#include "tests/runtime/session/wrapped_transport.h"

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

/// Until no rank has asked the device anything for a while.
void wait_until_quiet() {
  std::uint64_t before = ~std::uint64_t{0};
  while (before != emulated::calls("cuEventQuery")) {
    before = emulated::calls("cuEventQuery");
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
}

}  // namespace

TEST_CASE("session on a GPU: a kernel that faults ends the job on all ranks, with the call and the gradient") {
  for (const auto& [name, kernels] :
       {std::pair{"int4", 0}, {"int4", 1}, {"int4", 5}, {"lossless", 1}, {"lossless", 2}}) {
    const std::string complaints = steps_with_fault(device_codec(name), 1, kernels);
    INFO(complaints);
    CHECK_THAT(complaints, !Catch::Contains("it went well"));
    CHECK_THAT(complaints, Catch::Contains("rank 0: Unavailable") && Catch::Contains("rank 1: Unavailable"));
    CHECK_THAT(complaints, Catch::Contains("an illegal memory access was encountered (CUDA 700)"));
    CHECK_THAT(complaints, Catch::Contains("gradient layer"));
    CHECK_THAT(complaints, Catch::Contains(" rank 0 (") || Catch::Contains(" rank 1 ("));  // they share the device
    CHECK_THAT(complaints, Catch::Contains("this process cannot use the GPU any more: start it again"));
  }
}

TEST_CASE("session on a GPU: a device that has failed when a gradient is submitted ends the job on all ranks") {
  const auto plans = {"default { codec { name: \"int4\" } }", "staleness: 1 default { codec { name: \"int4\" } }",
                      "group { name: \"all\" gradient: \"layer\" gradient: \"none\" codec { name: \"int4\" } }"};
  for (const char* text : plans) {
    INFO(text);
    const PlanFile plan(text);
    std::barrier meet(2);
    const std::string complaints =
        with_sessions(2, on_gpu_by(plan), [&](Session& session, RankContext& context) -> std::string {
          Program program;
          const Result<GradientId> id = declare(session, "layer", 5000);
          const auto floats = program.floats(5000);
          const Submission one = program.submission(*id, floats);
          const auto submit = [&] { return session.submit({&one, 1}).status(); };
          Status status = submit();
          if (status) status = session.step().status();
          if (status && context.rank == 1) status = submit();
          meet.arrive_and_wait();
          if (status && context.rank == 0) {
            wait_until_quiet();  // rank 1 waits for messages, and hears of the failure only from rank 0
            emulated::break_device();
            status = submit();
          }
          // With staleness a step has the result of an earlier one.
          for (int more = 0; status && more < 3; ++more) {
            status = session.step().status();
            if (status) status = submit();
          }
          return status.text();
        });
    emulated::mend_device();
    CHECK_THAT(complaints, Catch::Contains("rank 0: Unavailable") || Catch::Contains("rank 0: PeerFailure: rank 0 "));
    CHECK_THAT(complaints, Catch::Contains("rank 1: Unavailable") || Catch::Contains("rank 1: PeerFailure: rank 0 "));
    CHECK_THAT(complaints, !Catch::Contains("its session was closed"));
    const std::string words = "an illegal memory access was encountered (CUDA 700)";
    const std::size_t first = complaints.find(words);
    CHECK((first != std::string::npos && complaints.find(words, first + 1) != std::string::npos));
  }
}

TEST_CASE("session on a GPU: a stream that is captured into a graph is refused, and captures of other streams go on") {
  for (const char* text : {"default { codec { name: \"int4\" } }", "staleness: 1 default { codec { name: \"int4\" } }",
                           "group { name: \"all\" gradient: \"layer\" codec { name: \"int4\" } }"}) {
    INFO(text);
    const PlanFile plan(text);
    const std::string complaints =
        with_sessions(2, on_gpu_by(plan), [&](Session& session, RankContext& context) -> std::string {
          Program program, other;
          const Result<GradientId> id = declare(session, "layer", 5000);
          auto floats = program.floats(5000);
          const Submission one = program.submission(*id, floats);
          emulated::begin_capture(program.stream());
          const Status refused = session.submit({&one, 1}).status();
          emulated::end_capture(program.stream());
          if (refused.code() != StatusCode::kInvalidArgument) return "not refused: " + refused.text();
          if (refused.message().find("gradient layer: its stream is captured") == std::string::npos) {
            return refused.text();
          }
          emulated::begin_capture(other.stream());
          for (std::uint32_t step = 0; step < 4; ++step) {
            program.write(floats, contribution(context.rank, 5000, step));
            Status status = session.submit({&one, 1}).status();
            if (status) status = session.step().status();
            if (!status) return status.text();
          }
          return emulated::end_capture(other.stream()) ? "" : "a call has ended the capture";
        });
    CHECK(complaints == "");
  }
}

TEST_CASE("staleness on a GPU: a device that fails ends the job on all ranks, with the driver's words") {
  const PlanFile plan("staleness: 1 default { codec { name: \"int4\" } }");
  for (const int kernels : {0, 3}) {
    const std::string complaints = steps_with_fault(on_gpu_by(plan), 2, kernels);
    INFO(complaints);
    CHECK_THAT(complaints, !Catch::Contains("it went well"));
    CHECK_THAT(complaints, Catch::Contains("rank 0: Unavailable") || Catch::Contains("rank 0: PeerFailure: rank 1 "));
    CHECK_THAT(complaints, Catch::Contains("rank 1: Unavailable") || Catch::Contains("rank 1: PeerFailure: rank 0 "));
    CHECK_THAT(complaints, Catch::Contains("an illegal memory access was encountered (CUDA 700)"));
  }
}

TEST_CASE("session on a GPU: a coded payload that is damaged, cut off or too long is DataLoss on all ranks") {
  using Damage = std::function<void(Message&, std::vector<std::byte>&)>;
  const auto resized = [](Bytes from, Bytes to) -> Damage {
    return [=](Message& message, auto& payload) {
      payload.resize(to != 0 ? to : payload.size() - from);
      message.payload_bytes = payload.size();
    };
  };
  const std::pair<const char*, std::size_t> codecs[] = {{"lossless", 16}, {"topk_coded", 48}};
  for (const auto& [name, table] : codecs) {  // the place of the first size of a block
    const Damage in_table = [at = table](Message&, auto& payload) { payload[at] ^= std::byte{0xff}; };
    const Damage in_block = [at = table + 2](Message&, auto& payload) { payload[at] = std::byte{7}; };
    const std::pair<Damage, const char*> damages[] = {{in_table, "not a payload of its codec"},
                                                      {in_block, "block 0 of 1 does not decode to"},
                                                      {resized(3, 0), "not a payload of its codec"},
                                                      {resized(0, 10000), "bytes, expected at most"}};
    for (const auto& [damage, expected] : damages) {
      const std::string complaints = with_sessions(
          2,
          [&, apply = damage](SessionOptions& options) {
            device_codec(name)(options);
            if (*options.launch.rank != 1) return;
            options.open_transport = open_wrapped({.on_message = [apply](Message& message, auto& payload) {
              if (message.key.step == 1) apply(message, payload);
            }});
          },
          [&](Session& session, RankContext& context) -> std::string {
            Program program;
            const Result<GradientId> id = declare(session, "layer", 2000);
            auto floats = program.floats(2000);
            for (std::uint32_t step = 0; step < 3; ++step) {
              program.write(floats, contribution(context.rank, 2000, step));
              const Submission one = program.submission(*id, floats);
              const auto handles = session.submit({&one, 1});
              const Status status = handles ? session.step().status() : handles.status();
              if (!status) return status.text();
            }
            return "it went well";
          });
      INFO(name << ": " << complaints);
      CHECK_THAT(complaints, !Catch::Contains("it went well") && Catch::Contains(expected) &&
                                 Catch::Contains("rank 0: DataLoss") && Catch::Contains("rank 1: DataLoss"));
      CHECK_THAT(complaints, Catch::Contains("layer"));
    }
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
                             Catch::Contains("bytes of memory of the device (cuMemAlloc)") &&
                             Catch::Contains("`residual_memory` in the plan takes less"));
}

TEST_CASE("session on a GPU: pinned memory has a bound, and gradients that need more end the job with the numbers") {
  const auto sessions = [](const char* bound) {
    const ScopedVariable most("CASYNC_PINNED_MB", bound);
    return with_sessions(2, device_codec("none"), [&](Session& session, RankContext& context) -> std::string {
      constexpr std::size_t kElements = 1 << 20;
      Program program;
      const Result<GradientId> id = declare(session, "layer", kElements);
      auto floats = program.floats(kElements);
      program.write(floats, contribution(context.rank, kElements, 0));
      const Submission one = program.submission(*id, floats);
      const auto handles = session.submit({&one, 1});
      const Status status = handles ? session.step().status() : handles.status();
      if (!status) return status.text();
      const SessionStats stats = session.stats();
      const bool counted = stats.pinned_bytes >= 4_MiB && stats.pinned_bytes <= stats.most_pinned_bytes;
      return counted && stats.most_pinned_bytes == 64_MiB ? "" : json_text(stats);
    });
  };
  CHECK(sessions("64") == "");
  const std::string complaints = sessions("2");
  CHECK_THAT(complaints, Catch::Contains("rank 0: ") && Catch::Contains("rank 1: "));
  CHECK_THAT(complaints,
             Catch::Contains(" bytes of pinned memory beside ") &&
                 Catch::Contains(" that are taken, and this session may have 2097152: raise CASYNC_PINNED_MB"));
  CHECK_THAT(sessions("0.5"), Catch::Contains("CASYNC_PINNED_MB"));
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
