// SPDX-License-Identifier: Apache-2.0
//
// `staleness`: each step gets the submissions of the step so many earlier, and nothing else changes.
#include <catch2/catch.hpp>

#include <atomic>
#include <chrono>
#include <cmath>
#include <mutex>
#include <semaphore>
#include <thread>
#include <utility>

#include "base/allocation_count.h"
#include "casync/strategies/strategy.h"
#include "runtime/device/host/host_device.h"
#include "runtime/session/delayed_session.h"
#include "tests/runtime/session/lacks_ucx.h"
#include "tests/runtime/session/lone_session.h"
#include "tests/runtime/session/staleness_cases.h"

using namespace casync;                   // NOLINT(google-build-using-namespace)
using namespace casync::runtime;          // NOLINT(google-build-using-namespace)
using namespace casync::test;             // NOLINT(google-build-using-namespace)
using namespace casync::test::staleness;  // NOLINT(google-build-using-namespace)

TEST_CASE("staleness: a step gets, byte for byte, what the step so many earlier would have got without it") {
  for (const char* codec : {"none", "int4", "topk", "dgc", "powersgd"}) {
    for (const Strategy& one : strategies()) {
      const std::string strategy(one.name);
      INFO(codec << " " << strategy);
      Results prompt;
      REQUIRE(train(0, codec, strategy, prompt) == "");
      for (const std::uint32_t staleness : {1u, 3u}) {
        Results late;
        REQUIRE(train(static_cast<int>(staleness), codec, strategy, late) == "");
        for (int rank = 0; rank < kRanks; ++rank) {
          for (std::uint32_t i = 0; i < staleness; ++i) CHECK(all_zero(late.of[rank][i]));
          for (std::uint32_t i = staleness; i < kSteps; ++i) {
            CHECK(late.of[rank][i] == prompt.of[rank][i - staleness]);
          }
        }
      }
    }
  }
}

TEST_CASE("staleness: a training that is saved and goes on is one that was never interrupted") {
  for (const char* codec : {"none", "int4"}) {
    for (const int staleness : {1, 2, 4}) {
      for (const std::uint32_t at : {1u, 3u}) {
        INFO(codec << ", staleness " << staleness << " at step " << at);
        Results through, parts;
        SessionState states[kRanks];
        REQUIRE(train(staleness, codec, "ps", through) == "");
        REQUIRE(train(staleness, codec, "ps", parts, 0, at, states) == "");
        REQUIRE(train(staleness, codec, "ps", parts, at, kSteps, states) == "");
        for (int rank = 0; rank < kRanks; ++rank) {
          for (std::uint32_t i = 0; i < kSteps; ++i) CHECK(parts.of[rank][i] == through.of[rank][i]);
        }
      }
    }
  }
}

TEST_CASE("staleness: over TCP, at ranks' own pace, the results are the same bytes") {
  Results wanted, got;
  REQUIRE(train(3, "int4", "ps", wanted) == "");
  const std::string complaints = train(3, "int4", "ps", got, 0, kSteps, nullptr, "ucx:tcp");
  if (lacks_ucx(complaints)) return;
  REQUIRE(complaints == "");
  for (int rank = 0; rank < kRanks; ++rank) {
    for (std::uint32_t i = 0; i < kSteps; ++i) CHECK(got.of[rank][i] == wanted.of[rank][i]);
  }
}

TEST_CASE("staleness: applied, late and kept elements are together the submitted ones") {
  std::vector<double> rest(kElements, 0.0);
  std::mutex mutex;
  double norm = 0;
  const std::string complaints =
      with_staleness(2, "int4", "ps", [&](Session& session, RankContext& context) -> std::string {
        const Result<GradientId> id = declare(session, "weight", kElements);
        if (!id) return id.status().text();
        for (std::uint32_t i = 0; i < kSteps; ++i) {
          const std::vector<float> own = contribution(context.rank, kElements, i);
          std::vector<float> values = own;
          if (std::string bad = step(session, *id, values); !bad.empty()) return bad;
          std::lock_guard lock(mutex);
          for (std::size_t e = 0; e < kElements; ++e) rest[e] += own[e] / kRanks;
          for (std::size_t e = 0; e < kElements && context.rank == 0; ++e) rest[e] -= values[e];
          for (const float value : own) norm += double(value) * value;
        }
        const Result<SessionState> state = session.state();
        if (!state) return state.status().text();
        std::lock_guard lock(mutex);
        for (std::size_t e = 0; e < kElements; ++e) {
          const GradientState& kept = state->gradients.at("weight");
          bool owned = false;
          for (const auto& range : kept.owned) owned |= e >= range.first && e < range.first + range.count;
          rest[e] -= kept.residual[e] / (owned ? 1.0 : kRanks);
          if (context.rank != 0) continue;
          rest[e] -= state->gradients.at("weight (late 1)").residual[e];
          rest[e] -= state->gradients.at("weight (late 2)").residual[e];
        }
        return "";
      });
  REQUIRE(complaints == "");
  double error = 0;
  for (const double value : rest) error += value * value;
  CHECK(std::sqrt(error / norm) < 1e-5);
}

TEST_CASE("staleness: a rank may be so many steps ahead of the slowest, and no more") {
  constexpr int kStaleness = 3;
  std::atomic<int> ahead[kRanks] = {};
  std::atomic<bool> slow_goes_on{false};
  const std::string complaints =
      with_staleness(kStaleness, "int8", "ps", [&](Session& session, RankContext& context) -> std::string {
        const Result<GradientId> id = declare(session, "weight", 1000);
        for (std::uint32_t i = 0; i < 8; ++i) {
          std::vector<float> values = contribution(context.rank, 1000, i);
          const Submission one{*id, view_of(values)};
          if (const auto handles = session.submit({&one, 1}); !handles) return handles.status().text();
          if (context.rank == 0 && i == 0) {
            const auto are_ahead = [&] { return ahead[1] >= kStaleness && ahead[2] >= kStaleness; };
            for (int waited = 0; !are_ahead() && waited < 1000; ++waited) {
              std::this_thread::sleep_for(std::chrono::milliseconds(10));
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(300));
            if (ahead[1] != kStaleness || ahead[2] != kStaleness) {
              return "the others have ended " + std::to_string(ahead[1]) + " and " + std::to_string(ahead[2]) +
                     " steps";
            }
            slow_goes_on = true;
          }
          if (const auto done = session.step(); !done) return done.status().text();
          if (++ahead[context.rank] > kStaleness && !slow_goes_on) return "has not waited for rank 0";
        }
        return "";
      });
  CHECK(complaints == "");
}

TEST_CASE("staleness: a wait of the program's own, while the previous step is not reduced, may be tried again") {
  std::atomic<bool> timed_out{false};
  const std::string complaints =
      with_staleness(2, "none", "ps", [&](Session& session, RankContext& context) -> std::string {
        const Result<GradientId> id = declare(session, "weight", 1000);
        std::vector<float> values;
        for (std::uint32_t i = 0; i < 4; ++i) {
          values = contribution(context.rank, 1000, i);
          const Submission one{*id, view_of(values)};
          const auto handles = session.submit({&one, 1});
          if (!handles) return handles.status().text();
          if (i == 0 && context.rank == 0) {
            for (int waited = 0; !timed_out && waited < 1000; ++waited) {
              std::this_thread::sleep_for(std::chrono::milliseconds(10));
            }
          }
          if (context.rank == 1 && i == 2) {
            const Status late = session.wait(handles->front(), 0.05);
            timed_out = true;
            if (late.code() != StatusCode::kTimeout) return "no timeout but " + late.text();
          }
          if (const Status done = session.wait(handles->front(), -1); !done) return done.text();
          if (i > 1 && values != average(kRanks, 1000, i - 2)) return "step " + std::to_string(i);
          if (const auto done = session.step(); !done) return done.status().text();
        }
        return "";
      });
  CHECK(complaints == "");
}

TEST_CASE("staleness: taking a state between steps changes nothing") {
  Results plain;
  REQUIRE(train(1, "int4", "ps", plain) == "");
  const std::string complaints =
      with_staleness(1, "int4", "ps", [&](Session& session, RankContext& context) -> std::string {
        const Result<GradientId> id = declare(session, "weight", kElements);
        if (!id) return id.status().text();
        for (std::uint32_t i = 0; i < kSteps; ++i) {
          std::vector<float> values = contribution(context.rank, kElements, i);
          if (std::string bad = step(session, *id, values); !bad.empty()) return bad;
          if (values != plain.of[context.rank][i]) return "step " + std::to_string(i) + " differs";
          if (const auto state = session.state(); !state || state->step != i + 1) return "its state is not right";
        }
        return "";
      });
  CHECK(complaints == "");
}

TEST_CASE("staleness: half precision is exact, too, through a state and back") {
  const std::string complaints = with_staleness(1, "none", "ps", [&](Session& session, RankContext&) -> std::string {
    for (const DType dtype : {DType::kFloat16, DType::kBFloat16}) {
      const Result<GradientId> id = session.declare({"g" + std::string(name_of(dtype)), dtype, {3}, 0});
      if (!id) return id.status().text();
      std::uint16_t values[] = {0x3c00, 0xbe01, 0x0001};
      const Submission one{*id, {reinterpret_cast<std::byte*>(values), sizeof values}};
      if (const auto handles = session.submit({&one, 1}); !handles) return handles.status().text();
      if (const auto done = session.step(); !done) return done.status().text();
      if (values[0] != 0 || values[1] != 0 || values[2] != 0) return "the first result is not zero";
      const Result<SessionState> state = session.state();
      if (!state) return state.status().text();
      if (const Status loaded = session.load_state(*state); !loaded) return loaded.text();
      if (const auto handles = session.submit({&one, 1}); !handles) return handles.status().text();
      if (const auto done = session.step(); !done) return done.status().text();
      // The mean of three ranks' equal values, rounded once.
      if (values[0] != 0x3c00 || values[1] != 0xbe01 || values[2] != 0x0001) return "not what was submitted";
    }
    return "";
  });
  CHECK(complaints == "");
}

TEST_CASE("staleness: a gradient that a step leaves out gets its last result when it comes back") {
  const std::string complaints =
      with_staleness(1, "none", "ps", [&](Session& session, RankContext& context) -> std::string {
        const Result<GradientId> often = declare(session, "often", 100), seldom = declare(session, "seldom", 100);
        if (!often || !seldom) return "declare";
        for (std::uint32_t i = 0; i < 6; ++i) {
          std::vector<float> values = contribution(context.rank, 100, i),
                             rare = contribution(context.rank, 100, 50 + i);
          if (std::string bad = reduce(session, *often, values); !bad.empty()) return bad;
          if (i % 3 == 0) {
            if (std::string bad = reduce(session, *seldom, rare); !bad.empty()) return bad;
          }
          if (const auto done = session.step(); !done) return done.status().text();
          if (i > 0 && values != average(kRanks, 100, i - 1)) return "often, step " + std::to_string(i);
          if (i == 3 && rare != average(kRanks, 100, 50)) return std::string("seldom");
        }
        return "";
      });
  CHECK(complaints == "");
}

TEST_CASE("staleness: wait, done and step hand over, on any thread") {
  const std::string complaints =
      with_staleness(1, "int8", "ps", [&](Session& session, RankContext& context) -> std::string {
        std::vector<GradientId> ids;
        for (int g = 0; g < 12; ++g) ids.push_back(*declare(session, "g" + std::to_string(g), 3000));
        std::vector<std::vector<float>> before;
        for (std::uint32_t i = 0; i < 8; ++i) {
          std::vector<std::vector<float>> values;
          std::vector<Submission> all;
          for (std::size_t g = 0; g < ids.size(); ++g) values.push_back(contribution(context.rank, 3000, 100 * i + g));
          for (std::size_t g = 0; g < ids.size(); ++g) all.push_back({ids[g], view_of(values[g])});
          const auto handles = session.submit(all);
          if (!handles) return handles.status().text();
          std::thread waiter([&] {
            for (std::size_t g = 0; g < 4; ++g) static_cast<void>(session.wait((*handles)[g], -1, Waiter::kHelper));
          });
          for (std::size_t g = 4; g < 8; ++g) {
            while (!session.done((*handles)[g])) std::this_thread::yield();
          }
          waiter.join();
          const auto is_late = [&](std::size_t g) {
            return i == 0 ? all_zero(values[g])
                          : relative_error(values[g], average(kRanks, 3000, 100 * (i - 1) + static_cast<unsigned>(g))) <
                                0.05;
          };
          for (std::size_t g = 0; g < 8; ++g) {
            if (!is_late(g)) return "g" + std::to_string(g) + " within step " + std::to_string(i);
          }
          if (const auto done = session.step(); !done) return done.status().text();
          for (std::size_t g = 8; g < ids.size(); ++g) {
            if (!is_late(g)) return "g" + std::to_string(g) + " after step " + std::to_string(i);
          }
        }
        return "";
      });
  CHECK(complaints == "");
}

namespace {

/// A session whose steps take until they may end, and whose wait() calls `meanwhile`.
class Interrupted final : public LoneSession {
 public:
  std::function<void()> meanwhile;
  std::counting_semaphore<> may_end{0};  ///< so many steps

  Status wait(Handle, double, Waiter) override {
    if (meanwhile) std::exchange(meanwhile, {})();
    return Status::ok();
  }
  Result<StepResult> step() override {
    may_end.acquire();
    return StepResult{};
  }
};

}  // namespace

TEST_CASE("staleness: a wait while others go on to the next step leaves that step's gradient alone") {
  auto owned = std::make_unique<Interrupted>();
  Interrupted& inner = *owned;
  const std::unique_ptr<Device> device = make_host_device();
  const std::unique_ptr<Session> delayed = DelayedSession::wrap(std::move(owned), *device, 1, 20).value();
  Session& session = *delayed;
  const GradientId id = *declare(session, "weight", 2);
  std::vector<float> first = {1, 1}, second = {2, 2}, third = {3, 3};
  const auto submitted = [&](std::vector<float>& values) {
    const Submission one{id, view_of(values)};
    return session.submit({&one, 1})->front();
  };
  submitted(first);
  REQUIRE(session.step().is_ok());
  const Handle handle = submitted(second);
  inner.meanwhile = [&] {
    inner.may_end.release();
    REQUIRE(session.step().is_ok());
    submitted(third);
  };
  REQUIRE(session.wait(handle, -1).is_ok());
  CHECK(second == std::vector<float>{1, 1});
  CHECK(third == std::vector<float>{3, 3});  // reductions in the meantime are not its result
  inner.may_end.release();
}

TEST_CASE("staleness: a steady step asks for no memory on the program's thread") {
  const std::string complaints =
      with_staleness(1, "int4", "ps", [&](Session& session, RankContext& context) -> std::string {
        const Result<GradientId> id = declare(session, "weight", kElements);
        std::vector<float> values = contribution(context.rank, kElements, 1);
        const Submission one{*id, view_of(values)};
        Handle handle{};
        std::uint64_t begin = 0;
        for (int i = 0; i < 12; ++i) {
          if (i == 6) begin = allocations_of_this_thread();
          if (Status status = session.submit({&one, 1}, {&handle, 1}); !status) return status.text();
          if (Status status = session.wait(handle, -1); !status) return status.text();
          if (!session.step()) return "step";
        }
        const std::uint64_t allocations = allocations_of_this_thread() - begin;
        return allocations == 0 ? "" : std::to_string(allocations) + " allocations";
      });
  CHECK(complaints == "");
}
