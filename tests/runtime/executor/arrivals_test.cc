// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/arrivals.h"

#include <catch2/catch.hpp>
#include <utility>

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

/// Receives two partitions from each of two ranks, the later ones first.
TaskGraph receiving() {
  TaskGraph::Builder builder;
  for (const std::uint32_t partition : {1u, 0u}) {
    for (const Rank from : {2, 1}) {
      const BufferId to = builder.buffer({{0, 10}, Hop::kFirst, partition});
      static_cast<void>(builder.add(Recv{from, to, {partition, 0}}));
    }
  }
  return std::move(builder).build();
}

}  // namespace

TEST_CASE("arrivals: a message is found by what it is and by its sender") {
  const TaskGraph graph = receiving();
  Arrivals arrivals(graph);
  REQUIRE(arrivals.all().size() == 4);
  for (std::size_t i = 0; i < graph.tasks().size(); ++i) {
    const Recv& recv = std::get<Recv>(graph.tasks()[i]);
    const Arrivals::Arrival* const found = arrivals.find(recv.id, recv.from);
    REQUIRE(found != nullptr);
    CHECK(TaskGraph::index(found->task()) == i);
    CHECK(found->to() == recv.to);
    CHECK(found->id() == recv.id);
    CHECK(found->from() == recv.from);
  }
  CHECK(arrivals.find({0, 0}, 3) == nullptr);
  CHECK(arrivals.find({0, 1}, 1) == nullptr);
  CHECK(arrivals.find({2, 0}, 1) == nullptr);
}

TEST_CASE("arrivals: one that has begun has until the next step, or until it is forgotten") {
  const TaskGraph graph = receiving();
  Arrivals arrivals(graph);
  arrivals.find({0, 0}, 1)->begin();
  arrivals.find({1, 0}, 2)->begin();
  const Arrivals& seen = arrivals;
  CHECK(seen.find({0, 0}, 1)->has_begun());
  CHECK_FALSE(seen.find({0, 0}, 2)->has_begun());
  arrivals.find({0, 0}, 1)->forget();
  CHECK_FALSE(seen.find({0, 0}, 1)->has_begun());
  CHECK(seen.find({1, 0}, 2)->has_begun());
  arrivals.begin();
  CHECK_FALSE(seen.find({1, 0}, 2)->has_begun());
}
