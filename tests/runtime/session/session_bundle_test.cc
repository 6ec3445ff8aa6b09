// SPDX-License-Identifier: Apache-2.0
//
// Small gradients that travel as one: the bytes are those of each alone, whatever a rank submits together.
#include <catch2/catch.hpp>

#include <cmath>
#include <fstream>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "runtime/session/session.h"
#include "tests/runtime/session/gradients.h"
#include "tests/support/ranks.h"
#include "tests/support/temporary_directory.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)
using namespace casync::test;     // NOLINT(google-build-using-namespace)

namespace {

constexpr int kRanks = 3;
constexpr std::size_t kGradients = 60;
constexpr std::uint32_t kSteps = 4;

std::size_t elements_of(std::size_t gradient) { return gradient % 7 == 0 ? 1 : 37 * gradient % 600 + 1; }

/// The way in which a rank submits: all in one call; one by one; or so, with a wait for the first one's result.
enum class Way { kTogether, kInParts, kWaiting };

Way way_of(int rank, std::uint32_t step, bool mixed) {
  if (!mixed) return Way::kTogether;
  // Only one rank waits for a result, and the others have submitted all by then.
  if (rank == 1 && step % 2 == 1) return Way::kWaiting;
  return (static_cast<std::uint32_t>(rank) + step) % 2 == 0 ? Way::kTogether : Way::kInParts;
}

std::string submit(Session& session, std::vector<Submission> all, Way way, unsigned salt) {
  if (way == Way::kTogether) {
    const auto handles = session.submit(all);
    return handles ? "" : handles.status().text();
  }
  std::shuffle(all.begin(), all.end(), std::mt19937(salt));
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto handles = session.submit({&all[i], 1});
    if (!handles) return handles.status().text();
    if (i != 0 || way != Way::kWaiting) continue;
    if (const Status status = session.wait((*handles)[0], -1); !status) return status.text();
  }
  return "";
}

struct Outcome {
  std::vector<std::vector<float>> values = std::vector<std::vector<float>>(kRanks);
  std::uint64_t tasks = 0;
  std::string first_non_finite;
};

/// `more`: of the plan's default.
std::string train(const std::string& codec, Bytes fusion_bytes, bool mixed, const std::string& transport,
                  Outcome& outcome, bool with_nan = false, const std::string& more = "") {
  TemporaryDirectory directory;
  const std::string path = directory.path() + "/plan.txtpb";
  std::ofstream(path) << "version: 1\nfusion_bytes: " << fusion_bytes << "\ndefault { codec { name: \"" << codec
                      << "\" } " << more << " }\n";
  return with_sessions(
      kRanks, [&](SessionOptions& options) { options.plan_file = path; },
      [&](Session& session, RankContext& context) -> std::string {
        std::vector<GradientId> ids;
        for (std::size_t i = 0; i < kGradients; ++i) {
          const Result<GradientId> id = declare(session, "g" + std::to_string(i), elements_of(i));
          if (!id) return id.status().text();
          ids.push_back(*id);
        }
        for (std::uint32_t step = 0; step < kSteps; ++step) {
          std::vector<std::vector<float>> values;
          std::vector<Submission> submissions;
          for (std::size_t i = 0; i < kGradients; ++i) {
            values.push_back(contribution(context.rank, elements_of(i), step * 1000 + static_cast<unsigned>(i)));
          }
          if (with_nan && step == 2 && context.rank == 1) values[17][0] = std::numeric_limits<float>::quiet_NaN();
          for (std::size_t i = 0; i < kGradients; ++i) submissions.push_back({ids[i], view_of(values[i])});
          const Way way = way_of(context.rank, step, mixed);
          if (std::string failed = submit(session, submissions, way, step); !failed.empty()) return failed;
          const Result<StepResult> done = session.step();
          if (!done) return done.status().text();
          if (context.rank == 0 && !done->finite) outcome.first_non_finite = done->first_non_finite;
          std::vector<float>& all = outcome.values[static_cast<std::size_t>(context.rank)];
          for (const std::vector<float>& one : values) all.insert(all.end(), one.begin(), one.end());
        }
        if (context.rank == 0) outcome.tasks = session.stats().tasks;
        return "";
      },
      transport);
}

/// Returns true if all elements are equal or both NaN.
bool alike(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](float x, float y) {
           return x == y || (std::isnan(x) && std::isnan(y));
         });
}

}  // namespace

TEST_CASE("session bundles: the same bytes as each gradient alone, in a tenth of the tasks") {
  for (const char* codec : {"none", "int8", "onebit", "topk", "terngrad", "dgc"}) {
    INFO(codec);
    Outcome alone, together;
    REQUIRE(train(codec, 0, false, "loopback", alone) == "");
    REQUIRE(train(codec, 64_KiB, false, "loopback", together) == "");
    for (int rank = 0; rank < kRanks; ++rank) {
      CHECK(alike(alone.values[0], together.values[static_cast<std::size_t>(rank)]));
    }
    CHECK(10 * together.tasks <= alone.tasks);
  }
}

TEST_CASE("session bundles: a rank that submits one by one, or waits in between, meets those that bundle") {
  for (const char* transport : {"loopback", "ucx:tcp"}) {
    for (const char* codec : {"none", "int8", "onebit"}) {
      INFO(codec << " over " << transport);
      Outcome alone, mixed;
      REQUIRE(train(codec, 0, false, "loopback", alone) == "");
      const std::string complaints = train(codec, 64_KiB, true, transport, mixed);
      if (complaints.find("Unimplemented") != std::string::npos) {
        WARN("[SKIP] " << complaints);
        continue;
      }
      REQUIRE(complaints == "");
      for (int rank = 0; rank < kRanks; ++rank) {
        CHECK(alike(alone.values[0], mixed.values[static_cast<std::size_t>(rank)]));
      }
    }
  }
}

// With two dedicated servers of three ranks, each owns some gradients and is a mere receiver of the others.
TEST_CASE("session bundles: beside dedicated servers, too, with the same bytes, whatever a rank submits together") {
  for (const char* servers : {"servers: 1 dedicated: true", "servers: 2 dedicated: true"}) {
    for (const char* codec : {"none", "int8", "dgc"}) {
      INFO(codec << ", " << servers);
      Outcome alone, together, mixed;
      REQUIRE(train(codec, 0, false, "loopback", alone, false, servers) == "");
      REQUIRE(train(codec, 64_KiB, false, "loopback", together, false, servers) == "");
      REQUIRE(train(codec, 64_KiB, true, "loopback", mixed, false, servers) == "");
      for (std::size_t rank = 0; rank < kRanks; ++rank) {
        CHECK(alike(alone.values[0], together.values[rank]));
        CHECK(alike(alone.values[0], mixed.values[rank]));
      }
      CHECK(10 * together.tasks <= alone.tasks);
    }
  }
}

TEST_CASE("session bundles: a gradient that is not finite says so for itself alone") {
  for (const bool mixed : {false, true}) {
    Outcome alone, together;
    REQUIRE(train("onebit", 0, false, "loopback", alone, true) == "");
    REQUIRE(train("onebit", 64_KiB, mixed, "loopback", together, true) == "");
    CHECK(alone.first_non_finite == "g17");
    CHECK(together.first_non_finite == "g17");
    for (int rank = 0; rank < kRanks; ++rank) {
      CHECK(alike(alone.values[0], together.values[static_cast<std::size_t>(rank)]));
    }
  }
}
