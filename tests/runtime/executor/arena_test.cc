// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/arena.h"

#include <catch2/catch.hpp>
#include <set>

#include "base/allocation_count.h"
#include "runtime/device/host/host_device.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

Layout layout(std::vector<SizeClass> classes) {
  Layout made;
  for (SizeClass& one : classes) {
    one.first = made.total_bytes;
    made.total_bytes += one.slot_bytes * one.slots;
    made.classes.push_back(one);
  }
  return made;
}

}  // namespace

TEST_CASE("arena: every slot that was laid out can be taken at once, and none overlap") {
  const auto device = make_host_device();
  Arena arena(*device);
  REQUIRE(arena.add(layout({{64, 3, 0}, {256, 2, 0}})).is_ok());
  REQUIRE(arena.add(layout({{64, 2, 0}, {128, 1, 0}})).is_ok());
  std::set<std::pair<std::byte*, std::byte*>> taken;
  for (Bytes bytes : {64, 60, 1, 64, 33, 200, 256, 100}) {
    const View slot = arena.take(bytes);
    CHECK(slot.size == bytes);
    taken.emplace(slot.data, slot.data + bytes);
  }
  REQUIRE(taken.size() == 8);
  std::byte* last = nullptr;
  for (const auto& [from, to] : taken) {
    CHECK(from >= last);
    last = to;
  }
  CHECK(arena.reserved() == 5 * 64 + 2 * 256 + 128);
}

TEST_CASE("arena: the slot given back last is given out first, without allocating") {
  const auto device = make_host_device();
  Arena arena(*device);
  REQUIRE(arena.add(layout({{1024, 8, 0}})).is_ok());
  const View first = arena.take(1000);
  const View second = arena.take(1000);
  const std::uint64_t before = allocations_of_this_thread();
  arena.give_back(second);
  arena.give_back(first);
  const View again = arena.take(990);
  CHECK(allocations_of_this_thread() == before);
  CHECK(again.data == first.data);
}
