// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstring>

#include "base/check.h"
#include "compll/cuda/staged_memory.h"
#include "runtime/device/codec_kernels.h"
#include "runtime/device/stream.h"

namespace casync::runtime {

/// The memory of one call's launches: what they are given grows from the room's beginning, and their workspace from its
/// end. Without memory it counts.
class LaunchRoom final : public compll::LaunchMemory {
 public:
  LaunchRoom() = default;
  LaunchRoom(DeviceView room, View pinned) : room_(room), pinned_(pinned), counts_(false) {}

  std::byte* give(const void* bytes, std::size_t size) override {
    const Bytes at = given_;
    given_ += round_up(Bytes{size}, kAlignment);
    if (counts_) return nullptr;
    CASYNC_CHECK(given_ <= pinned_.size && given_ + worked_ <= room_.size());
    if (size != 0) std::memcpy(pinned_.data + at, bytes, size);
    return address(at);
  }

  std::byte* work(std::size_t size, std::size_t zeroed) override {
    worked_ += round_up(Bytes{size}, kAlignment);
    if (counts_) return nullptr;
    CASYNC_CHECK(given_ + worked_ <= room_.size());
    const Bytes at = room_.size() / kAlignment * kAlignment - worked_;
    if (zeroed != 0) {
      CASYNC_CHECK(zeroed_count_ < zeroed_.size());
      zeroed_[zeroed_count_++] = room_.slice(at, zeroed);
    }
    return address(at);
  }

  KernelRoom counted() const { return {given_ + worked_ + kAlignment, given_}; }

  /// Queues what launches count on: the given bytes are there, and the workspaces zero where they have to be.
  Status fill(Stream& stream) const {
    for (std::size_t i = 0; i < zeroed_count_; ++i) CASYNC_RETURN_IF_ERROR(stream.fill(zeroed_[i], std::byte{0}));
    return stream.upload(pinned_.slice(0, given_), room_.slice(0, given_));
  }

 private:
  static constexpr Bytes kAlignment = 256;
  std::byte* address(Bytes at) const { return reinterpret_cast<std::byte*>(room_.address() + at); }

  DeviceView room_;
  View pinned_;
  bool counts_ = true;
  Bytes given_ = 0, worked_ = 0;
  std::array<DeviceView, 8> zeroed_;  ///< two for each launch of a function
  std::size_t zeroed_count_ = 0;
};

}  // namespace casync::runtime
