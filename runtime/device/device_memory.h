// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "base/check.h"
#include "base/units.h"
#include "base/view.h"

namespace casync::runtime {

/// The kinds of memory that a device gives out.
enum class Memory : std::uint8_t {
  kDevice,  ///< codecs and gradients: its streams read and write it, and the host may not be able to
  kPinned,  ///< messages: the host's, and streams copy from and to it without waiting
};

/// Bytes of somebody else in a device's memory: an address that nobody on the host can read through. On the CPU it is
/// an ordinary one, which only the CPU's own device turns into a View (host_view). Never owns.
class DeviceView {
 public:
  DeviceView() = default;
  DeviceView(std::uint64_t address, Bytes size) : address_(address), size_(size) {}
  /// As a framework names it.
  static DeviceView of(const void* address, Bytes size) { return {reinterpret_cast<std::uint64_t>(address), size}; }

  std::uint64_t address() const { return address_; }
  Bytes size() const { return size_; }
  bool is_null() const { return address_ == 0; }
  /// Checks nothing: first + count is at most size().
  DeviceView slice(Bytes first, Bytes count) const { return {address_ + first, count}; }

 private:
  std::uint64_t address_ = 0;
  Bytes size_ = 0;
};

/// Memory of a device, owned: the destructor frees it. Its contents are undefined at first.
class DeviceBuffer {
 public:
  virtual ~DeviceBuffer() = default;
  DeviceView device() const { return device_; }
  /// The same bytes on the host. Only where the host has them: pinned memory, and all memory of the CPU.
  View view() const {
    CASYNC_CHECK(host_.data != nullptr || device_.size() == 0);
    return host_;
  }

 protected:
  DeviceView device_;
  View host_;
};

}  // namespace casync::runtime
