// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/pinned_bound.h"

#include "runtime/device/host/host_device.h"
#include "tests/conformance/device_conformance.h"

namespace casync::runtime {

TEST_CASE("pinned bound: the device conforms as without it") {
  test::check_device(*bound_pinned(make_host_device(), 1024_MiB));
}

TEST_CASE("pinned bound: memory that is given out counts while it lives, and more is refused with the numbers") {
  const std::unique_ptr<PinnedBound> device = bound_pinned(make_host_device(), 3_MiB);
  CHECK(device->most_pinned() == 3_MiB);
  auto first = device->allocate(1_MiB, Memory::kPinned), second = device->allocate(2_MiB, Memory::kPinned);
  REQUIRE(first.status().text() == "OK");
  REQUIRE(second.status().text() == "OK");
  CHECK(device->pinned() == 3_MiB);
  CHECK((*second)->view().size == 2_MiB);
  CHECK((*second)->device().size() == 2_MiB);

  const Status refused = device->allocate(1_MiB, Memory::kPinned).status();
  CHECK(refused.code() == StatusCode::kUnavailable);
  CHECK_THAT(refused.message(), Catch::StartsWith("cpu: 1048576 bytes of pinned memory beside 3145728 that are taken, "
                                                  "and this session may have 3145728: raise CASYNC_PINNED_MB"));
  CHECK(device->allocate(~Bytes{0}, Memory::kPinned).status().code() == StatusCode::kUnavailable);
  CHECK(device->pinned() == 3_MiB);
  CHECK(device->allocate(64_MiB, Memory::kDevice).status().text() == "OK");

  second->reset();
  CHECK(device->pinned() == 1_MiB);
  CHECK(device->allocate(2_MiB, Memory::kPinned).status().text() == "OK");
}

TEST_CASE("pinned bound: memory may outlive its device") {
  std::unique_ptr<PinnedBound> device = bound_pinned(make_host_device(), 1_MiB);
  auto memory = device->allocate(1_KiB, Memory::kPinned);
  REQUIRE(memory.status().text() == "OK");
  device.reset();
  memory->reset();
}

}  // namespace casync::runtime
