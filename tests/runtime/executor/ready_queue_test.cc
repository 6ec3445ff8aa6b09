// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/ready_queue.h"

#include <catch2/catch.hpp>
#include <random>
#include <tuple>

#include "base/allocation_count.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

TEST_CASE("ready queue: most urgent first, then what is further along, then first come first served") {
  std::mt19937 random(7);
  ReadyQueue queue;
  queue.reserve(500);
  const std::uint64_t before = allocations_of_this_thread();
  for (std::uint64_t i = 0; i < 500; ++i) {
    queue.push({nullptr, TaskId{}, static_cast<int>(random() % 5), static_cast<std::uint32_t>(random() % 3), i});
  }
  CHECK(allocations_of_this_thread() == before);
  ReadyTask last = queue.pop();
  int popped = 1;
  for (; !queue.empty(); ++popped) {
    const ReadyTask next = queue.pop();
    REQUIRE(std::tuple(last.priority, -int(last.hop), last.arrival) <
            std::tuple(next.priority, -int(next.hop), next.arrival));
    last = next;
  }
  CHECK(popped == 500);
}
