// SPDX-License-Identifier: Apache-2.0
//
// Sessions over the real transports: the result may not depend on which one carried it, or on who came first.
#include <catch2/catch.hpp>
#include <chrono>
#include <random>
#include <thread>

#include "runtime/session/session.h"
#include "tests/support/ranks.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)
using casync::test::RankContext;

namespace {

constexpr int kRanks = 3;
constexpr std::size_t kGradients = 6;

std::size_t elements_of(std::size_t gradient) { return gradient == 0 ? 700001 : 999 * gradient; }

/// Three steps of six gradients; what rank 0 holds at the end, all gradients one after the other.
std::string train(const std::string& transport, const std::string& codec, unsigned delays, std::vector<float>& last) {
  return casync::test::with_sessions(
      kRanks,
      [&](SessionOptions& options) {
        options.codec = CodecChoice{codec, {}};
      },
      [&](Session& session, RankContext& context) -> std::string {
        std::mt19937 values(static_cast<unsigned>(context.rank)), pauses(delays + static_cast<unsigned>(context.rank));
        std::vector<std::vector<float>> gradients(kGradients);
        std::vector<GradientId> ids;
        for (std::size_t i = 0; i < kGradients; ++i) {
          gradients[i].resize(elements_of(i));
          const auto extent = static_cast<std::int64_t>(elements_of(i));
          const Result<GradientId> id = session.declare({"g" + std::to_string(i), DType::kFloat32, {extent}, 0});
          if (!id) return id.status().text();
          ids.push_back(*id);
        }
        for (int step = 0; step < 3; ++step) {
          for (std::size_t i = 0; i < kGradients; ++i) {
            for (float& value : gradients[i]) value = std::normal_distribution<float>()(values);
            std::this_thread::sleep_for(std::chrono::microseconds(pauses() % 2000));
            const Submission one{ids[i], {reinterpret_cast<std::byte*>(gradients[i].data()), gradients[i].size() * 4}};
            if (Result<std::vector<Handle>> handles = session.submit({&one, 1}); !handles) {
              return handles.status().text();
            }
          }
          if (const Result<StepResult> done = session.step(); !done) return done.status().text();
        }
        if (context.rank == 0) {
          last.clear();
          for (const std::vector<float>& one : gradients) last.insert(last.end(), one.begin(), one.end());
        }
        return "";
      },
      transport);
}

}  // namespace

TEST_CASE("session: the same bytes over every transport and in whatever order messages come") {
  for (const char* codec : {"none", "int4", "onebit"}) {
    std::vector<float> wanted;
    REQUIRE(train("loopback", codec, 1, wanted) == "");
    for (const char* transport : {"loopback", "ucx", "ucx:tcp", "ucx:shm"}) {
      std::vector<float> got;
      const std::string complaints = train(transport, codec, 77, got);
      if (complaints.find("Unimplemented") != std::string::npos) {
        WARN("[SKIP] " << transport << ": " << complaints);
        continue;
      }
      INFO(transport << ", " << codec);
      REQUIRE(complaints == "");
      CHECK(got == wanted);
    }
  }
}
