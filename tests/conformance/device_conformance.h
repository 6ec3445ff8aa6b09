// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>
#include <vector>

#include "runtime/device/device.h"

namespace casync::test {

/// Checks what every device must do; a device joins with one call.
inline void check_device(runtime::Device& device) {
  SECTION("a stream runs its work in order, each piece once, on one other thread") {
    struct Log {
      std::vector<std::uint64_t> seen;
      std::thread::id thread;
    } log;
    {
      const std::unique_ptr<runtime::Stream> stream = std::move(device.make_stream("order")).value();
      const auto note = [](void* context, std::uint64_t argument) {
        static_cast<Log*>(context)->seen.push_back(argument);
        static_cast<Log*>(context)->thread = std::this_thread::get_id();
      };
      CHECK(stream->processor_seconds() >= 0);
      for (std::uint64_t i = 0; i < 1000;) {
        if (stream->enqueue({note, &log, i})) {
          ++i;
        } else {
          std::this_thread::yield();
        }
      }
    }  // the end of a stream waits for what is queued
    REQUIRE(log.seen.size() == 1000);
    CHECK(std::is_sorted(log.seen.begin(), log.seen.end()));
    CHECK(log.thread != std::this_thread::get_id());
  }

  SECTION("a full stream says so and loses nothing") {
    struct Gate {
      std::atomic<bool> open{false};
      std::atomic<int> ran{0};
    } gate;
    int accepted = 0;
    {
      const std::unique_ptr<runtime::Stream> stream = std::move(device.make_stream("full")).value();
      const auto wait = [](void* context, std::uint64_t) {
        while (!static_cast<Gate*>(context)->open) std::this_thread::yield();
        ++static_cast<Gate*>(context)->ran;
      };
      while (stream->enqueue({wait, &gate, 0})) {
        ++accepted;
        REQUIRE(accepted <= static_cast<int>(runtime::kStreamDepth) + 1);
      }
      gate.open = true;
    }
    CHECK(accepted >= static_cast<int>(runtime::kStreamDepth));
    CHECK(gate.ran == accepted);
  }

  SECTION("memory is zeroed, aligned to pages, and of any size") {
    for (Bytes bytes : {Bytes{0}, Bytes{1}, Bytes{4097}, 5_MiB}) {
      Result<std::unique_ptr<runtime::DeviceBuffer>> buffer = device.allocate(bytes);
      REQUIRE(buffer.is_ok());
      const View view = (*buffer)->view();
      CHECK(view.size == bytes);
      if (bytes == 0) continue;
      CHECK(reinterpret_cast<std::uintptr_t>(view.data) % 4096 == 0);
      CHECK(view.data[0] == std::byte{0});
      CHECK(view.data[bytes - 1] == std::byte{0});
      view.data[bytes - 1] = std::byte{7};
    }
  }

  SECTION("more memory than there can be is Unavailable, with the amount") {
    const Result<std::unique_ptr<runtime::DeviceBuffer>> buffer = device.allocate(Bytes{1} << 62);
    REQUIRE(!buffer.is_ok());
    CHECK(buffer.status().code() == StatusCode::kUnavailable);
    CHECK_THAT(buffer.status().message(), Catch::Contains("4611686018427387904"));
  }
}

}  // namespace casync::test
