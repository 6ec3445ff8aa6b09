// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/conformance/device_kernels.h"
#include "tests/conformance/device_under_test.h"

namespace casync::test {

/// Checks what every device must do; a device joins with one call.
inline void check_device(runtime::Device& device) {
  DeviceUnderTest on(device);

  SECTION("memory is aligned, and of any size; pinned memory is the host's, too") {
    for (const Memory kind : {Memory::kDevice, Memory::kPinned}) {
      for (const Bytes bytes : {Bytes{0}, Bytes{1}, Bytes{4097}, 5_MiB}) {
        const auto buffer = on.take(bytes, kind);
        CHECK(buffer->device().size() == bytes);
        if (bytes == 0) continue;
        CHECK(buffer->device().address() % 256 == 0);
        CHECK(device.check(buffer->device()).is_ok() == (kind == Memory::kDevice || device.is_host()));
        if (kind == Memory::kPinned) buffer->view().data[bytes - 1] = std::byte{7};
      }
    }
  }

  SECTION("more memory than there can be is Unavailable, with the amount") {
    for (const Memory kind : {Memory::kDevice, Memory::kPinned}) {
      const auto buffer = device.allocate(Bytes{1} << 62, kind);
      REQUIRE(!buffer.is_ok());
      CHECK(buffer.status().code() == StatusCode::kUnavailable);
      CHECK_THAT(buffer.status().message(), Catch::Contains("4611686018427387904"));
    }
  }

  SECTION("a stream works in its order, and an event says when it is over") {
    const auto first = on.take(4096, Memory::kPinned), last = on.take(4096, Memory::kPinned);
    const auto a = on.take(4096, Memory::kDevice), b = on.take(4096, Memory::kDevice);
    fill_with(first->view(), 5);
    CHECK(wait_until_over(*on.event).is_ok());  // nothing was recorded
    REQUIRE(on.stream->upload(first->view(), a->device()).is_ok());
    REQUIRE(on.stream->fill(a->device().slice(0, 1000), std::byte{3}).is_ok());
    REQUIRE(on.stream->copy(a->device(), b->device()).is_ok());
    REQUIRE(on.stream->download(b->device(), last->view()).is_ok());
    REQUIRE(on.over().is_ok());
    CHECK(last->view().data[999] == std::byte{3});
    CHECK(last->view().data[1000] == std::byte{5});
  }

  SECTION("a stream waits for another one's event") {
    const auto other = std::move(device.make_stream(true)).value();
    const auto later = std::move(device.make_event()).value();
    const auto first = on.take(1 << 20, Memory::kPinned), last = on.take(1 << 20, Memory::kPinned);
    const auto memory = on.take(1 << 20, Memory::kDevice);
    for (int round = 1; round < 20; ++round) {
      fill_with(first->view(), round);
      REQUIRE(on.stream->upload(first->view(), memory->device()).is_ok());
      REQUIRE(on.stream->record(*on.event).is_ok());
      REQUIRE(other->wait_for(*on.event).is_ok());
      REQUIRE(other->download(memory->device(), last->view()).is_ok());
      REQUIRE(other->record(*later).is_ok());
      REQUIRE(wait_until_over(*later).is_ok());
      CHECK(last->view().data[(1 << 20) - 1] == std::byte(round));
    }
  }

  SECTION("timed events say how long what is between them took") {
    const auto begin = std::move(device.make_timed_event()).value(), end = std::move(device.make_timed_event()).value();
    CHECK(device.seconds_between(*begin, *end).status().code() == StatusCode::kUnavailable);  // never recorded
    static constexpr auto kWork = std::chrono::milliseconds(20);
    const auto before = std::chrono::steady_clock::now();
    REQUIRE(on.stream->record(*begin).is_ok());
    REQUIRE(on.stream->call([](void*) { std::this_thread::sleep_for(kWork); }, nullptr).is_ok());
    REQUIRE(on.stream->record(*end).is_ok());
    REQUIRE(wait_until_over(*end).is_ok());
    const std::chrono::duration<double> most = std::chrono::steady_clock::now() - before;
    const Result<double> seconds = device.seconds_between(*begin, *end), back = device.seconds_between(*end, *begin);
    REQUIRE(seconds.is_ok());
    CHECK(*seconds > 0.99 * std::chrono::duration<double>(kWork).count());
    CHECK(*seconds < 1.01 * most.count());
    CHECK(back.value() == -*seconds);
    REQUIRE(on.over().is_ok());
    CHECK(device.seconds_between(*begin, *on.event).status().code() == StatusCode::kUnavailable);  // without a time
    REQUIRE(device.record(*end, on.stream->native()).is_ok());                                     // another moment now
    REQUIRE(wait_until_over(*end).is_ok());
    CHECK(device.seconds_between(*begin, *end).value() > *seconds);
  }

  SECTION("a stream rings behind what is queued") {
    std::atomic<int> rung = 0;
    const auto ring = [](void* bell) { ++*static_cast<std::atomic<int>*>(bell); };
    for (int i = 0; i < 100; ++i) REQUIRE(on.stream->call(ring, &rung).is_ok());
    REQUIRE(on.over().is_ok());
    CHECK(rung == 100);
  }

  SECTION("copies that wait") {
    const auto memory = on.take(100, Memory::kDevice);
    std::vector<std::byte> values(100, std::byte{9}), seen(100);
    REQUIRE(device.write({values.data(), 100}, memory->device()).is_ok());
    REQUIRE(device.read(memory->device(), {seen.data(), 100}).is_ok());
    CHECK(seen == values);
  }

  SECTION("kernels of codecs: blocks, statistics, a whole vector, and none at all") {
    for (const char* name : {"none", "int4", "onebit", "topk", "topk_coded", "qsgd_elias"}) check_kernels(on, name);
    check_greatest(on);
    check_fault(on);
  }

  SECTION("results in half precision that are not finite") {
    for (const char* name : {"none", "int4", "fp16", "topk"}) check_not_finite(on, name);
  }

  SECTION("turns of a codec that exchanges within a step") { check_turns(on, "powersgd"); }
  SECTION("turns of one that exchanges a maximum and whole numbers") { check_turns(on, "terngrad_shared"); }
}

}  // namespace casync::test
