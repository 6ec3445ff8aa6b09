// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/computing.h"

#include <catch2/catch.hpp>
#include <thread>

#include "tests/runtime/executor/one_rank.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

/// An owner whose merge is ready: both contributions are there.
struct ComputingOwner {
  explicit ComputingOwner(std::uint64_t epoch, int streams = 0, Elements elements = 100)
      : ranks(test::make_ranks(2, epoch, {.fusion_bytes = 0, .streams = streams})) {
    for (std::size_t i = 0; i < 2; ++i) {
      values.emplace_back(elements, static_cast<float>(i + 1));
      runs.push_back(&ranks[i]->take_in("weight", elements));
    }
    for (std::size_t i = 0; i < 2; ++i) ranks[i]->begin(*runs[i], 0, values[i]);
    while (one().parts.ready.to_compute().empty()) {
      ranks[1]->round();
      one().transport->progress();
    }
  }
  test::OneRank& one() { return *ranks[0]; }

  std::vector<std::unique_ptr<test::OneRank>> ranks;
  std::vector<GradientRun*> runs;
  std::vector<std::vector<float>> values;
};

}  // namespace

TEST_CASE("computing: without streams a ready task is over when it returns, with what it made ready") {
  ComputingOwner owner(760);
  Computing& computing = owner.one().parts.computing;
  CHECK(computing.run_ready());
  CHECK(owner.one().parts.ready.to_compute().empty());
  CHECK(owner.values[0] == std::vector<float>(100, 3));
  CHECK_FALSE(computing.run_ready());
  CHECK_FALSE(computing.take_ended());
  CHECK(owner.one().record.counters().seconds_of(SpanKind::kMerge) > 0);
}

TEST_CASE("computing: after a failure no ready task runs") {
  ComputingOwner owner(761);
  owner.one().failures.fail(data_loss("a cause"));
  owner.one().parts.computing.run_ready();
  CHECK_FALSE(owner.one().parts.ready.to_compute().empty());
  CHECK(owner.values[0] == std::vector<float>(100, 1));
}

TEST_CASE("computing: a host needs no look at a device, and has no rounds") {
  ComputingOwner owner(762);
  const Computing& computing = owner.one().parts.computing;
  const Clock::time_point now = Clock::now(), latest = now + std::chrono::seconds(1);
  CHECK(computing.due(now, latest) == latest);
  CHECK(computing.rounds() == nullptr);
  CHECK_FALSE(computing.is_on_device());
}

TEST_CASE("computing: a large task goes through a stream, and is over once its end is taken") {
  constexpr Elements kLarge = Elements{64} * 1024;
  ComputingOwner owner(763, 1, kLarge);
  Computing& computing = owner.one().parts.computing;
  CHECK(computing.run_ready());
  CHECK(owner.one().parts.ready.to_compute().empty());
  CHECK_FALSE(owner.one().parts.ready.run_instant([](const ReadyTask&) {}));
  CHECK(owner.one().record.counters().seconds_of(SpanKind::kMerge) == 0);
  while (!computing.take_ended()) std::this_thread::yield();
  CHECK(owner.one().record.counters().seconds_of(SpanKind::kMerge) > 0);
  while (owner.runs[0]->step.is_under_way() || owner.runs[1]->step.is_under_way()) test::run_all(owner.ranks);
  CHECK((owner.values[0] == std::vector<float>(kLarge, 3)));
  for (const auto& one : owner.ranks) CHECK(one->reported.empty());
  CHECK(computing.come_to_rest());
  computing.close();
}
