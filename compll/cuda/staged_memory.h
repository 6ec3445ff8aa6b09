// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "compll/cuda/cuda_device.h"

namespace casync::compll {

/// Where launches put what they need beside vectors.
class LaunchMemory {
 public:
  virtual ~LaunchMemory() = default;

  /// A copy of these bytes, in the device's memory from a multiple of 256 bytes on. Kernels leave it as it is.
  virtual std::byte* give(const void* bytes, std::size_t size) = 0;
  /// So many bytes, of which the first are zeros, before launches and behind them.
  virtual std::byte* work(std::size_t size, std::size_t zeroed) = 0;

  template <class T>
  T* give_one(const T& value) {
    return reinterpret_cast<T*>(give(&value, sizeof value));
  }
};

/// Device memory for one call of a codec's function: laid out and filled here, sent in one copy, fetched in one. Around
/// each piece there is more, which nobody may write.
class StagedMemory final : public LaunchMemory {
 public:
  explicit StagedMemory(CudaDevice& device) : device_(device) {}
  ~StagedMemory() override { device_.free(memory_); }
  StagedMemory(const StagedMemory&) = delete;
  StagedMemory& operator=(const StagedMemory&) = delete;

  /// A piece that kernels write.
  struct Piece {
    std::size_t at = 0, size = 0;  ///< in bytes
    std::byte* memory = nullptr;   ///< of the device

    template <class T>
    T* as() const {
      return reinterpret_cast<T*>(memory);
    }
  };

  /// Sends what `place` asks for; returns what it does. It is called twice: after the first time it is known how much
  /// that is.
  template <class Place>
  auto send(const Place& place) {
    begin(0);
    place();
    begin(used_);
    auto placed = place();
    device_.upload(memory_, sent_.data(), used_);
    return placed;
  }

  std::byte* give(const void* bytes, std::size_t size) override;
  std::byte* work(std::size_t size, std::size_t zeroed) override;
  /// With these bytes in it, or any where there are none.
  Piece room(const void* bytes, std::size_t size);

  /// What has become of all that was sent.
  void fetch();
  void read(const Piece& piece, void* to) const;

  /// Whether a kernel ever wrote where it may not, or left changed what has to be as it was.
  bool wrote_outside() const { return wrote_outside_; }

 private:
  /// Nothing is placed yet; there will be so many bytes.
  void begin(std::size_t bytes);
  std::size_t place(std::size_t size);
  std::byte* address(std::size_t at) const;

  CudaDevice& device_;
  std::byte* memory_ = nullptr;
  std::size_t size_ = 0, used_ = 0;
  std::vector<std::byte> sent_, fetched_;
  std::vector<std::pair<std::size_t, std::size_t>> written_;  ///< from and to: what kernels may write, in this order
  bool is_real_ = false, wrote_outside_ = false;
};

}  // namespace casync::compll
