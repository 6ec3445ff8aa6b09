// SPDX-License-Identifier: Apache-2.0
//
// Sums of asynchronous ranks in a device's memory, between steps.
#include "runtime/executor/device_sums.h"

#include <catch2/catch.hpp>

#include "runtime/device/host/host_device.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

using Floats = std::vector<float>;

/// Sums of two elements for three ranks, on a device that is the host.
struct Sums {
  explicit Sums(bool residuals) : sums(3, 2, residuals) {
    memory = std::move(device->allocate(sums.floats() * sizeof(float), Memory::kDevice)).value();
    REQUIRE(sums.lie_at(memory->device(), *device));
  }
  void write(DeviceView to, Floats values) {
    REQUIRE(device->write({reinterpret_cast<const std::byte*>(values.data()), 8}, to));
  }
  Floats at(DeviceView from) {
    Floats values(2);
    REQUIRE(device->read(from, {reinterpret_cast<std::byte*>(values.data()), 8}));
    return values;
  }
  Floats state() {
    Floats values(sums.has_residuals() ? 4 : 2);
    REQUIRE(sums.read(values.data()));
    return values;
  }

  const std::unique_ptr<Device> device = make_host_device();
  DeviceSums sums;
  std::unique_ptr<DeviceBuffer> memory;
};

}  // namespace

TEST_CASE("device sums: levelled, each rank has the mean of those that count, where an empty sum is zeros") {
  Sums it(true);
  it.write(it.sums.of(0).memory(), {3, 6});
  it.write(it.sums.of(1).memory(), {100, 100});  // of nobody
  it.write(it.sums.of(2).memory(), {50, 50});
  it.sums.of(0).took(true, true);
  it.sums.of(2).took(true, false);
  for (const Rank rank : {0, 1, 2}) it.write(it.sums.of(rank).residual(), {2, static_cast<float>(rank)});
  REQUIRE(it.sums.level({true, true, false}));
  for (const Rank rank : {0, 1, 2}) {
    CHECK(it.at(it.sums.of(rank).memory()) == Floats{1.5f, 3});
    CHECK(it.at(it.sums.of(rank).residual()) == Floats{2, 0.5f});
    CHECK_FALSE(it.sums.of(rank).is_empty());
    CHECK(it.sums.of(rank).is_whole());
  }
  CHECK(it.state() == Floats{1.5f, 3, 2, 0.5f});
}

TEST_CASE("device sums: a state is written for all ranks, and without one nothing is untold") {
  for (const bool residuals : {false, true}) {
    Sums it(residuals);
    CHECK(it.sums.floats() == (residuals ? 18 : 6));
    CHECK(it.state() == Floats(residuals ? 4 : 2, 0.0f));
    const Floats state = residuals ? Floats{1, 2, 3, 4} : Floats{1, 2};
    REQUIRE(it.sums.write(state.data()));
    CHECK(it.state() == state);
    CHECK(it.at(it.sums.of(2).memory()) == Floats{1, 2});
    REQUIRE(it.sums.write(nullptr));
    CHECK(it.sums.of(2).is_empty());
    CHECK(it.state() == Floats(residuals ? 4 : 2, 0.0f));
  }
}

TEST_CASE("device sums: contributions are added to the sums of all ranks that need one") {
  Sums it(false);
  it.sums.of(1).end();
  it.sums.took(true, true);
  CHECK_FALSE(it.sums.of(0).is_empty());
  CHECK(it.sums.of(1).is_empty());
  CHECK_FALSE(it.sums.of(2).is_whole());
}
