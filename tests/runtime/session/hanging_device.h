// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "runtime/device/host/host_device.h"
#include "runtime/device/wrapping_device.h"

namespace casync::test {

using namespace casync::runtime;  // NOLINT(google-build-using-namespace)

/// An event of a device that hangs.
struct NeverDone final : Event {
  Result<bool> done() const override { return false; }
};

/// Takes all work and does nothing of it.
struct HangingStream final : Stream {
  void* native() const override { return nullptr; }
  Status upload(ConstView, DeviceView) override { return Status::ok(); }
  Status download(DeviceView, View) override { return Status::ok(); }
  Status copy(DeviceView, DeviceView) override { return Status::ok(); }
  Status fill(DeviceView, std::byte) override { return Status::ok(); }
  Status wait_for(const Event&) override { return Status::ok(); }
  Status record(Event&) override { return Status::ok(); }
  Status call(void (*)(void*), void*) override { return Status::ok(); }
};

/// Its memory is kept by whoever gives it up: a test makes it static.
struct HangingDevice : WrappingDevice {
  HangingDevice() : WrappingDevice(make_host_device()) {}
  bool is_host() const override { return false; }
  Result<std::unique_ptr<Stream>> make_stream(bool) override { return std::unique_ptr<Stream>(new HangingStream); }
  Result<std::unique_ptr<Event>> make_event() override { return std::unique_ptr<Event>(new NeverDone); }
  Status record(Event&, void*) override { return Status::ok(); }
  Status write(ConstView, DeviceView) override { return Status::ok(); }
};

/// Its events are done once somebody has looked at one of them so many times.
struct SlowDevice final : HangingDevice {
  struct DoneLater final : runtime::Event {
    explicit DoneLater(int& looks) : looks_(looks) {}
    Result<bool> done() const override {
      if (looks_ == 0) return true;
      --looks_;
      return false;
    }

   private:
    int& looks_;
  };
  Result<std::unique_ptr<runtime::Event>> make_event() override {
    return std::unique_ptr<runtime::Event>(new DoneLater(looks));
  }

  int looks = 0;
};

}  // namespace casync::test
