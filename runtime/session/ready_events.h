// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "runtime/device/device.h"
#include "runtime/session/session.h"

namespace casync::runtime {

/// The places in a program's streams behind which its gradients are written, by GradientId. On the host there are none.
/// Under the session's mutex. Errors: Unavailable, as Device.
class ReadyEvents {
 public:
  /// Borrows the device.
  explicit ReadyEvents(Device& device) : device_(device), is_host_(device.is_host()) {}

  /// The event of a gradient, for add(); null on the host. Any thread.
  Result<std::unique_ptr<Event>> make() const;
  void add(std::unique_ptr<Event> event) { ready_.push_back({std::move(event), nullptr}); }

  /// Notes where these are written: an event for those of one stream that are submitted next to each other, the last
  /// one's.
  Status note(std::span<const Submission> submissions);
  /// The same of one, which another stream has to do with now.
  Status note(GradientId gradient, void* stream);
  /// The event of the last submission; null on the host.
  const Event* of(GradientId gradient) const {
    return is_host_ ? nullptr : ready_[static_cast<std::size_t>(gradient)].noted;
  }

  /// Leaves the events to the tasks that wait for them.
  void leave_to_threads() { static_cast<void>(new auto(std::move(ready_))); }

 private:
  struct Ready {
    std::unique_ptr<Event> event;
    const Event* noted = nullptr;  ///< of the last submission: this event, or that of a gradient next to it
  };

  Ready& ready(GradientId gradient) { return ready_[static_cast<std::size_t>(gradient)]; }

  Device& device_;
  const bool is_host_;
  std::vector<Ready> ready_;
};

}  // namespace casync::runtime
