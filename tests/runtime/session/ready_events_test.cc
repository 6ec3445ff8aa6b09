// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/ready_events.h"

#include <catch2/catch.hpp>
#include <map>
#include <utility>

#include "runtime/device/host/host_device.h"
#include "runtime/device/wrapping_device.h"

using namespace casync;           // NOLINT(google-build-using-namespace)
using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

namespace {

struct DoneEvent final : Event {
  Result<bool> done() const override { return true; }
};

/// A device that notes which stream an event was last recorded in, and refuses one.
class NotingDevice final : public WrappingDevice {
 public:
  NotingDevice() : WrappingDevice(make_host_device()) {}
  bool is_host() const override { return false; }
  Result<std::unique_ptr<Event>> make_event() override { return std::unique_ptr<Event>(new DoneEvent); }
  Status record(Event& event, void* stream) override {
    if (stream == refused) return unavailable("no such stream");
    stream_of[&event] = stream;
    ++records;
    return Status::ok();
  }

  std::map<const Event*, void*> stream_of;
  void* refused = nullptr;
  int records = 0;
};

/// Streams by number; 0 is none.
void* stream(std::uintptr_t number) { return reinterpret_cast<void*>(number); }

Submission from(unsigned gradient, std::uintptr_t number) { return {GradientId(gradient), {}, {}, stream(number)}; }

void add(ReadyEvents& ready, int gradients) {
  for (int i = 0; i < gradients; ++i) ready.add(std::move(ready.make()).value());
}

}  // namespace

TEST_CASE("ready events: gradients submitted next to each other in one stream share the last one's") {
  NotingDevice device;
  ReadyEvents ready(device);
  add(ready, 5);
  const Submission submissions[] = {from(3, 1), from(0, 1), from(4, 2), from(2, 1), from(1, 1)};
  REQUIRE(ready.note(submissions));
  CHECK(device.records == 3);
  CHECK(ready.of(GradientId(3)) == ready.of(GradientId(0)));
  CHECK(ready.of(GradientId(2)) == ready.of(GradientId(1)));
  CHECK(ready.of(GradientId(0)) != ready.of(GradientId(1)));
  CHECK(device.stream_of.at(ready.of(GradientId(0))) == stream(1));
  CHECK(device.stream_of.at(ready.of(GradientId(4))) == stream(2));
  CHECK(device.stream_of.at(ready.of(GradientId(1))) == stream(1));
}

TEST_CASE("ready events: a gradient that another stream reads is ready after that one") {
  NotingDevice device;
  ReadyEvents ready(device);
  add(ready, 2);
  const Submission submissions[] = {from(0, 1), from(1, 1)};
  REQUIRE(ready.note(submissions));
  const Event* const shared = ready.of(GradientId(1));
  REQUIRE(ready.note(GradientId(0), stream(7)));
  CHECK(device.stream_of.at(ready.of(GradientId(0))) == stream(7));
  CHECK(ready.of(GradientId(1)) == shared);
  CHECK(device.stream_of.at(shared) == stream(1));
}

TEST_CASE("ready events: the device's refusal comes back") {
  NotingDevice device;
  device.refused = stream(9);
  ReadyEvents ready(device);
  add(ready, 1);
  const Submission submission = from(0, 9);
  CHECK(ready.note({&submission, 1}).text() == "Unavailable: no such stream");
}

TEST_CASE("ready events: there are none on the host") {
  const std::unique_ptr<Device> device = make_host_device();
  ReadyEvents ready(*device);
  Result<std::unique_ptr<Event>> made = ready.make();
  REQUIRE(made);
  CHECK(*made == nullptr);
  ready.add(std::move(*made));
  CHECK(ready.of(GradientId(0)) == nullptr);
}
