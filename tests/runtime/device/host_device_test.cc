// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/host/host_device.h"

#include <algorithm>

#include "runtime/device/work_queue.h"
#include "tests/conformance/device_conformance.h"

namespace casync::runtime {

TEST_CASE("host device: conforms") { test::check_device(*make_host_device()); }

TEST_CASE("work queue: it runs its work in order, each piece once, on one other thread") {
  struct Log {
    std::vector<std::uint64_t> seen;
    std::thread::id thread;
  } log;
  {
    const std::unique_ptr<WorkQueue> queue = std::move(make_work_queue("order")).value();
    const auto note = [](void* context, std::uint64_t argument) {
      static_cast<Log*>(context)->seen.push_back(argument);
      static_cast<Log*>(context)->thread = std::this_thread::get_id();
    };
    CHECK(queue->processor_seconds() >= 0);
    for (std::uint64_t i = 0; i < 1000;) {
      if (queue->enqueue({note, &log, i})) {
        ++i;
      } else {
        std::this_thread::yield();
      }
    }
  }  // the end of a queue waits for what is queued
  REQUIRE(log.seen.size() == 1000);
  CHECK(std::is_sorted(log.seen.begin(), log.seen.end()));
  CHECK(log.thread != std::this_thread::get_id());
}

TEST_CASE("work queue: a full one says so and loses nothing") {
  struct Gate {
    std::atomic<bool> open{false};
    std::atomic<int> ran{0};
  } gate;
  int accepted = 0;
  {
    const std::unique_ptr<WorkQueue> queue = std::move(make_work_queue("full")).value();
    const auto wait = [](void* context, std::uint64_t) {
      while (!static_cast<Gate*>(context)->open) std::this_thread::yield();
      ++static_cast<Gate*>(context)->ran;
    };
    while (queue->enqueue({wait, &gate, 0})) {
      ++accepted;
      REQUIRE(accepted <= static_cast<int>(kQueueDepth) + 1);
    }
    gate.open = true;
  }
  CHECK(accepted >= static_cast<int>(kQueueDepth));
  CHECK(gate.ran == accepted);
}

}  // namespace casync::runtime
