// SPDX-License-Identifier: Apache-2.0
//
// Gradients that share kernels on a GPU, because they are ready together and none waits for another.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <functional>
#include <string_view>
#include <thread>

#include "compll/codec/coded/coded_codec.h"
#include "compll/codec/registry.h"
#include "tests/compll/cuda/emulated/driver.h"
#include "tests/runtime/session/device_cases.h"
#include "tests/runtime/session/wrapped_transport.h"

using namespace casync;                // NOLINT(google-build-using-namespace)
using namespace casync::test;          // NOLINT(google-build-using-namespace)
using namespace casync::test::device;  // NOLINT(google-build-using-namespace)

namespace {

namespace emulated = compll::emulated;

constexpr std::size_t kGradients = 24;

// More than gradients in bundles have, of different sizes.
std::size_t elements_of(std::size_t gradient) { return 4200 + 131 * gradient; }

std::vector<std::vector<float>> medium_gradients(int rank, std::uint32_t step) {
  std::vector<std::vector<float>> values;
  for (std::size_t i = 0; i < kGradients; ++i) {
    values.push_back(contribution(rank, elements_of(i), 100 * step + static_cast<std::uint32_t>(i)));
  }
  return values;
}

}  // namespace

TEST_CASE("session on a GPU: gradients that are ready together share kernels, with the host's bytes") {
  constexpr std::uint64_t kRanks = 2;
  for (const char* codec :
       {"int4", "onebit", "terngrad", "topk", "dgc", "diana", "randomk", "signsgd", "lossless", "topk_coded", "laq"}) {
    INFO(codec);
    const std::string plan = std::string("default { codec { name: \"") + codec + "\" } strategy: ps partitions: 1 }";
    AllSeen host, device;
    REQUIRE(run(kRanks, false, plan, host, medium_gradients) == "");
    const std::uint64_t before = emulated::calls("cuLaunchKernel");
    REQUIRE(run(kRanks, true, plan, device, medium_gradients) == "");
    const std::uint64_t launches = emulated::calls("cuLaunchKernel") - before;
    CHECK(difference(host, device) == "");
    if (codec == std::string_view("diana") || codec == std::string_view("laq")) continue;  // results are launches, too
    // An encode or a decode, and a share of the merges, each at least one launch if alone, of coded sections three.
    const std::uint64_t least = compll::size_varies(**compll::make_codec(codec)) ? 3 : 1;
    CHECK(2 * launches <= least * 2 * kRanks * kSteps * kGradients);
  }
}

TEST_CASE("session on a GPU: gradients in half precision share kernels as those of float32 do") {
  constexpr std::uint64_t kRanks = 2;
  for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
    for (const char* codec : {"none", "int4", "topk"}) {
      INFO(codec << " of " << name_of(dtype));
      const std::string plan = std::string("default { codec { name: \"") + codec + "\" } strategy: ps partitions: 1 }";
      AllSeen host, device;
      REQUIRE(run(kRanks, false, plan, host, medium_gradients, "", "loopback", dtype) == "");
      const std::uint64_t before = emulated::calls("cuLaunchKernel");
      REQUIRE(run(kRanks, true, plan, device, medium_gradients, "", "loopback", dtype) == "");
      const std::uint64_t launches = emulated::calls("cuLaunchKernel") - before;
      CHECK(difference(host, device) == "");
      CHECK(2 * launches <= 2 * kRanks * kSteps * kGradients);
    }
  }
}

TEST_CASE("session on a GPU: a gradient that the program has not written yet holds up no other") {
  std::atomic<bool> open{false};
  const std::string complaints = with_sessions(
      2,
      [](SessionOptions& options) {
        options.codec = CodecChoice{"int4", {}};
        on_gpu(options);
      },
      [&](Session& session, RankContext& context) -> std::string {
        Program first, second;  // a stream each
        const Result<GradientId> ids[] = {declare(session, "a", 5000), declare(session, "b", 5000)};
        Program::Floats floats[] = {first.floats(5000), second.floats(5000)};
        // "a" comes first in the submission, and its stream stands still.
        first.context([&](const auto& api) {
          api.call_host(
              first.stream(),
              [](void* user) {
                while (!*static_cast<std::atomic<bool>*>(user)) std::this_thread::yield();
              },
              &open);
        });
        first.write(floats[0], contribution(context.rank, 5000, 1));
        second.write(floats[1], contribution(context.rank, 5000, 2));
        const Submission all[] = {first.submission(*ids[0], floats[0]), second.submission(*ids[1], floats[1])};
        const auto handles = session.submit(all);
        if (!handles) return handles.status().text();
        const Status status = session.wait((*handles)[1], 20);
        const bool early = session.done((*handles)[0]);
        open = true;
        if (!status) return "b: " + status.text();
        if (early) return "a was done ahead of its writing";
        return session.step().status().is_ok() ? "" : "step";
      });
  CHECK(complaints == "");
}

namespace {

/// The words of two ranks whose messages are damaged so.
std::string with_damage(const char* codec, const std::function<void(Message&, std::vector<std::byte>&)>& damage) {
  return with_sessions(
      2,
      [&](SessionOptions& options) {
        options.codec = CodecChoice{codec, {}};
        on_gpu(options);
        options.open_transport = open_wrapped({.on_message = damage});
      },
      [](Session& session, RankContext& context) -> std::string {
        Gradients gradients(session, true);
        std::vector<std::vector<float>> values = medium_gradients(context.rank, 0);
        std::vector<std::size_t> sizes;
        for (std::size_t i = 0; i < kGradients; ++i) sizes.push_back(elements_of(i));
        if (Status status = gradients.declare_all(sizes); !status) return status.text();
        const Result<StepResult> done = gradients.step(values);
        return done ? "it went well" : done.status().text();
      });
}

}  // namespace

TEST_CASE("session on a GPU: the damaged one of payloads that share kernels is named") {
  const auto topk = std::move(compll::make_codec("topk")).value();
  const auto behind_the_end = [bytes = topk->encoded_bound(elements_of(5))](Message&, std::vector<std::byte>& payload) {
    if (payload.size() == bytes) std::fill(payload.begin(), payload.end(), std::byte{0xff});  // places
  };
  const auto in_a_block = [](Message&, std::vector<std::byte>& payload) {
    std::uint64_t n = 0;
    std::memcpy(&n, payload.data() + 8, sizeof n);
    if (n == elements_of(5)) payload[16 + 2 * 2] = std::byte{7};  // no form of its first block
  };
  for (const std::string& complaints : {with_damage("topk", behind_the_end), with_damage("lossless", in_a_block)}) {
    INFO(complaints);
    CHECK_THAT(complaints, Catch::Contains("DataLoss") && Catch::Contains("gradient g5"));
    CHECK_THAT(complaints, !Catch::Contains("it went well"));
  }
}
