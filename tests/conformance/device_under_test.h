// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <thread>
#include <utility>

#include "runtime/device/device.h"

namespace casync::test {

using runtime::Memory;

/// Waits until the event is over; OK, or the failure that it carries.
inline Status wait_until_over(const runtime::Event& event) {
  while (true) {
    const Result<bool> done = event.done();
    if (!done) return done.status();
    if (*done) return Status::ok();
    std::this_thread::yield();
  }
}

/// A device and what each section takes of it.
struct DeviceUnderTest {
  explicit DeviceUnderTest(runtime::Device& of) : device(of) {
    stream = std::move(device.make_stream(false)).value();
    event = std::move(device.make_event()).value();
  }
  std::unique_ptr<runtime::DeviceBuffer> take(Bytes bytes, Memory kind) {
    return std::move(device.allocate(bytes, kind)).value();
  }
  Status over() {
    CASYNC_RETURN_IF_ERROR(stream->record(*event));
    return wait_until_over(*event);
  }

  runtime::Device& device;
  std::unique_ptr<runtime::Stream> stream;
  std::unique_ptr<runtime::Event> event;
};

inline void fill_with(View view, int value) { std::memset(view.data, value, view.size); }

}  // namespace casync::test
