// SPDX-License-Identifier: Apache-2.0
//
// Plans with a credit: the order of messages, and that it never becomes an order between ranks.
#include <catch2/catch.hpp>

#include <atomic>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "casync/strategies/strategy.h"
#include "runtime/session/session.h"
#include "tests/runtime/session/gradients.h"
#include "tests/runtime/session/lacks_ucx.h"
#include "tests/runtime/session/mixed_training.h"
#include "tests/runtime/session/plan_file.h"
#include "tests/runtime/session/waits_in_turn.h"
#include "tests/runtime/session/wrapped_transport.h"
#include "tests/support/ranks.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)
using namespace casync::test;     // NOLINT(google-build-using-namespace)

namespace {

constexpr Bytes kEach = 64_KiB;  // of a message of the bulky gradient
constexpr int kBulky = 8;        // that rank 0 sends rank 1
constexpr Bytes kUrgent = 4_KiB;

/// The sizes of the messages with contributions that rank 0 sends rank 1 if an urgent gradient is submitted while
/// messages of a bulky one have left, and none of them has arrived.
struct Overtaking {
  std::atomic<bool> is_held = false, is_urgent_submitted = false;
  std::atomic<bool> is_seen = false;  // by a round of rank 0's progress thread: the next one begins the gradient
  std::mutex mutex;
  std::vector<Bytes> sent;

  Tampering of_rank(Rank rank) {
    Tampering tampering;
    if (rank == 1) {
      tampering.in_progress = [this](TransportClient&) {
        while (is_held) std::this_thread::yield();
      };
      return tampering;
    }
    tampering.in_progress = [this](TransportClient&) {
      if (is_urgent_submitted && is_seen.exchange(true)) is_held = false;
    };
    tampering.on_message = [this](Message& message, std::vector<std::byte>& payload) {
      const std::lock_guard lock(mutex);
      if (message.key.step == 1 && message.key.hop == 0 && !payload.empty()) sent.push_back(payload.size());
    };
    return tampering;
  }
};

std::string overtake(Bytes credit, std::vector<Bytes>& sent) {
  Overtaking overtaking;
  const PlanFile plan("fusion_bytes: 0 credit_bytes: " + std::to_string(credit) +
                      " gradient { name: \"bulky\" partitions: " + std::to_string(2 * kBulky) +
                      " priority: 1 } gradient { name: \"urgent\" partitions: 2 priority: 0 }");
  std::atomic<int> at_barrier = 0;
  std::string complaints = with_sessions(
      2,
      [&](SessionOptions& options) {
        options.plan_file = plan.path();
        options.open_transport = open_wrapped(overtaking.of_rank(*options.launch.rank));
      },
      [&](Session& session, RankContext& context) -> std::string {
        std::vector<float> bulky(2 * kBulky * kEach / sizeof(float)), urgent(2 * kUrgent / sizeof(float));
        const Result<GradientId> first = declare(session, "bulky", bulky.size());
        const Result<GradientId> second = declare(session, "urgent", urgent.size());
        if (!first || !second) return first.status().text() + second.status().text();
        const Submission both[] = {{*first, view_of(bulky)}, {*second, view_of(urgent)}};
        if (const auto handles = session.submit(both); !handles) return handles.status().text();
        if (const Result<StepResult> done = session.step(); !done) return done.status().text();
        if (context.rank == 1) overtaking.is_held = true;
        ++at_barrier;
        while (at_barrier < 2) std::this_thread::yield();
        if (const auto handles = session.submit({both, 1}); !handles) return handles.status().text();
        if (context.rank == 0) {  // until what may leave has left
          const std::size_t leave = credit == 0 ? kBulky : credit / kEach;
          for (std::size_t sent_yet = 0; sent_yet < leave; std::this_thread::yield()) {
            const std::lock_guard lock(overtaking.mutex);
            sent_yet = overtaking.sent.size();
          }
        }
        if (const auto handles = session.submit({both + 1, 1}); !handles) return handles.status().text();
        if (context.rank == 0) overtaking.is_urgent_submitted = true;
        const Result<StepResult> done = session.step();
        return done ? "" : done.status().text();
      });
  overtaking.is_held = false;
  sent = overtaking.sent;
  return complaints;
}

/// Trains four ranks on two nodes. `last`: rank 0's gradients at the end.
std::string train(const std::string& plan_text, const std::string& transport, std::vector<float>& last) {
  const PlanFile plan(plan_text);
  const auto configure = [&](SessionOptions& options) {
    options.plan_file = plan.path();
    options.launch.node = *options.launch.rank < 2 ? "first" : "second";
  };
  return casync::test::train({.gradients = 24, .steps = 3, .transport = transport}, configure, last);
}

}  // namespace

TEST_CASE("session: an urgent gradient overtakes what has no credit yet, and nothing else") {
  const auto expected = [](std::size_t before) {
    std::vector<Bytes> sizes(kBulky, kEach);
    sizes.insert(sizes.begin() + static_cast<std::ptrdiff_t>(before), kUrgent);
    return sizes;
  };
  std::vector<Bytes> sent;
  CHECK(overtake(kEach, sent) == "");
  CHECK(sent == expected(1));
  CHECK(overtake(3 * kEach, sent) == "");
  CHECK(sent == expected(3));
  CHECK(overtake(0, sent) == "");  // the link is taken for a fast one, which takes all of them at once
  CHECK(sent == expected(kBulky));
}

TEST_CASE("session: a message that waits for its place gives its credit back, so ranks may go on in any order") {
  const std::string transport = GENERATE("loopback", "ucx:tcp", "ucx:shm");
  const Elements elements = GENERATE(Elements{300}, Elements{50'000}, Elements{600'000});
  CAPTURE(transport, elements);
  const std::string complaints = wait_in_turn("credit_bytes: 1", elements, transport);
  if (!lacks_ucx(complaints)) CHECK(complaints == "");
}

TEST_CASE("session: with any credit the same bytes arrive, with any strategy") {
  const std::string transport = GENERATE("loopback", "ucx:tcp");
  for (const Strategy& each : strategies()) {
    const std::string strategy(each.name);
    const std::string rest =
        std::string("default { codec { name: \"int8\" } partition_bytes: 65536 strategy: ") + strategy + " }";
    std::vector<float> without, with;
    const std::string complaints = train(rest, transport, without);
    if (lacks_ucx(complaints)) return;
    REQUIRE(complaints == "");
    for (const char* credit : {"1", "65536", "1048576"}) {
      CAPTURE(transport, strategy, credit);
      REQUIRE(train(rest + " credit_bytes: " + credit, transport, with) == "");
      CHECK(with == without);
    }
  }
}

TEST_CASE("session: ranks whose plans have different credits refuse to start") {
  const PlanFile plans[] = {PlanFile("credit_bytes: 1000"), PlanFile("credit_bytes: 1001")};
  const std::string complaints = with_sessions(
      2, [&](SessionOptions& options) { options.plan_file = plans[*options.launch.rank].path(); },
      [](Session&, RankContext&) { return std::string(); });
  CHECK(complaints.find("plan: credit_bytes") != std::string::npos);
}
