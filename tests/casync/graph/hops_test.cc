// SPDX-License-Identifier: Apache-2.0
#include "casync/graph/hops.h"

#include <catch2/catch.hpp>
#include <utility>

using namespace casync;  // NOLINT(google-build-using-namespace)

TEST_CASE("hops: a task is where the farthest payload is that it reads or fills") {
  const Slice all{0, 100};
  TaskGraph::Builder builder;
  const BufferId own = builder.buffer({all, Hop::kFirst, 0});
  const BufferId near = builder.buffer({all, Hop::kFirst, 0});
  const BufferId far = builder.buffer({all, Hop::kFirst, 0});
  const BufferId sum = builder.buffer({all, Hop::kSecond, 0});
  static_cast<void>(builder.add(Encode{all, own}));
  static_cast<void>(builder.add(Send{1, own, {0, 0}}));
  static_cast<void>(builder.add(Recv{1, near, {0, 0}}));
  static_cast<void>(builder.add(Recv{2, far, {0, 2}}));
  static_cast<void>(builder.add(Merge{{near, far}, all, sum, true}));
  static_cast<void>(builder.add(Send{1, sum, {0, 3}}));
  static_cast<void>(builder.add(Decode{sum, all}));
  const TaskGraph graph = std::move(builder).build();
  CHECK(hops_of_tasks(graph) == std::vector<std::uint32_t>{0, 0, 1, 3, 3, 3, 3});
}

TEST_CASE("hops: a graph without tasks has none") { CHECK(hops_of_tasks(TaskGraph()).empty()); }
