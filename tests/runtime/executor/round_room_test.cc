// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/round_room.h"

#include <array>
#include <catch2/catch.hpp>

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

constexpr std::uint64_t kRoomAddress = 0x10000;

/// Goes through two tasks: one of two vectors and a call, one of a vector and two calls.
template <class Visit>
void two_tasks(RoundRoom& room, Visit call) {
  room.begin_task();
  room.take_vector(100);
  room.take_vector(300);
  call(KernelRoom{1000, 40});
  room.begin_task();
  room.take_vector(600);
  call(KernelRoom{0, 257});
  call(KernelRoom{10, 0});
}

}  // namespace

TEST_CASE("round room: the largest task and the largest call count on the device, and all calls of a step for pinned") {
  RoundRoom room;
  CHECK(room.device_bytes() == 0);
  two_tasks(room, [&](const KernelRoom& one) { room.add_call(one); });
  CHECK(room.device_bytes() == (256 + 512) + 1024);
  CHECK(room.pinned_bytes() == 256 + 512 + 0);
}

TEST_CASE("round room: until it has a place, a vector's address is none of memory and not null") {
  RoundRoom room;
  CHECK_FALSE(room.take_vector(100).is_null());
  CHECK(room.take_vector(100).size() == 100);
}

TEST_CASE("round room: vectors of a task lie side by side, and calls get what they were planned with, in each step") {
  RoundRoom room;
  two_tasks(room, [&](const KernelRoom& one) { room.add_call(one); });
  std::array<std::byte, 768> pinned{};
  room.place({kRoomAddress, room.device_bytes()}, {pinned.data(), pinned.size()});
  for (int step = 0; step < 3; ++step) {
    room.begin_step();
    Bytes at = 0;
    two_tasks(room, [&](const KernelRoom& one) {
      const RoundRoom::Call call = room.next_call();
      CHECK(call.device.address() == kRoomAddress + 768);
      CHECK(call.device.size() == 1024);
      CHECK(call.pinned.data == pinned.data() + at);
      CHECK(call.pinned.size == round_up(one.pinned, 256));
      at += call.pinned.size;
    });
    room.begin_task();
    CHECK(room.take_vector(100).address() == kRoomAddress);
    CHECK(room.take_vector(300).address() == kRoomAddress + 256);
  }
  CHECK(room.device_bytes() == 768 + 1024);
}
