// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "tests/runtime/session/gradients.h"
#include "tests/runtime/session/plan_file.h"

/// Trainings by plans with `staleness`.
namespace casync::test::staleness {

using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

constexpr int kRanks = 3;
constexpr std::size_t kElements = 50021;
constexpr std::uint32_t kSteps = 5;

/// Sessions by a plan of this staleness that encodes by `codec` and carries by `strategy`.
inline std::string with_staleness(int staleness, const std::string& codec, const std::string& strategy,
                                  const Body& body, const std::string& transport = "loopback") {
  return with_plan(kRanks,
                   "seed: 3 staleness: " + std::to_string(staleness) + " default { codec { name: \"" + codec +
                       "\" } strategy: " + strategy + " partition_bytes: 65536 }",
                   body, transport);
}

struct Results {
  std::vector<float> of[kRanks][kSteps];
};

/// Runs steps [from, to) and keeps each rank's results. `states`: loaded unless `from` is 0, and stored at the end.
inline std::string train(int staleness, const std::string& codec, const std::string& strategy, Results& results,
                         std::uint32_t from = 0, std::uint32_t to = kSteps, SessionState* states = nullptr,
                         const std::string& transport = "loopback") {
  const Body body = [&](Session& session, RankContext& context) -> std::string {
    const Result<GradientId> id = declare(session, "weight", kElements);
    if (!id) return id.status().text();
    if (from > 0) {
      const Status loaded = session.load_state(states[context.rank]);
      if (!loaded) return loaded.text();
    }
    for (std::uint32_t i = from; i < to; ++i) {
      std::vector<float>& values = results.of[context.rank][i];
      values = contribution(context.rank, kElements, i);
      if (staleness > 1) std::this_thread::sleep_for(std::chrono::milliseconds((3 * i + context.rank) % 4));
      if (std::string bad = step(session, *id, values); !bad.empty()) return bad;
    }
    if (states == nullptr) return "";
    Result<SessionState> state = session.state();
    if (!state) return state.status().text();
    states[context.rank] = std::move(*state);
    return "";
  };
  return with_staleness(staleness, codec, strategy, body, transport);
}

inline bool all_zero(const std::vector<float>& values) {
  return std::all_of(values.begin(), values.end(), [](float x) { return x == 0; });
}

}  // namespace casync::test::staleness
