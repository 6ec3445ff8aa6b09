// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "compll/cuda/cuda_device.h"

namespace casync::compll {

/// The memory that launches need in addition to vectors.
class LaunchMemory {
 public:
  virtual ~LaunchMemory() = default;

  /// Copies these bytes to the device's memory, at a multiple of 256 bytes. Kernels do not change them.
  virtual std::byte* give(const void* bytes, std::size_t size) = 0;
  /// Reserves `size` bytes, of which the first `zeroed` are zeros when a launch starts and again when it ends.
  virtual std::byte* work(std::size_t size, std::size_t zeroed) = 0;

  template <class T>
  T* give_all(const std::vector<T>& values) {
    return reinterpret_cast<T*>(give(values.data(), values.size() * sizeof(T)));
  }
};

/// Device memory for one call of a codec's function: laid out and filled here, sent in one copy, fetched in one. The
/// bytes around each piece detect kernels that write outside of it.
class StagedMemory final : public LaunchMemory {
 public:
  explicit StagedMemory(CudaDevice& device) : device_(device) {}
  ~StagedMemory() override { device_.free(memory_); }
  StagedMemory(const StagedMemory&) = delete;
  StagedMemory& operator=(const StagedMemory&) = delete;

  /// A piece that kernels write.
  struct Piece {
    std::size_t at = 0, size = 0;  ///< in bytes
    std::byte* memory = nullptr;   ///< its address on the device

    template <class T>
    T* as() const {
      return reinterpret_cast<T*>(memory);
    }
  };

  /// Sends the memory that `place` reserves, and returns its result. Calls `place` twice: the first call finds the
  /// number of bytes.
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
  /// Reserves a piece with these bytes in it; null: with any bytes.
  Piece room(const void* bytes, std::size_t size);

  /// Fetches all memory that was sent, as the kernels left it.
  void fetch();
  void read(const Piece& piece, void* to) const;

  /// Returns true if a kernel ever wrote outside its memory, or did not restore memory that it has to restore.
  bool wrote_outside() const { return wrote_outside_; }

 private:
  /// Starts a new layout of so many bytes.
  void begin(std::size_t bytes);
  std::size_t place(std::size_t size);
  std::byte* address(std::size_t at) const;

  CudaDevice& device_;
  std::byte* memory_ = nullptr;
  std::size_t size_ = 0, used_ = 0;
  std::vector<std::byte> sent_, fetched_;
  std::vector<std::pair<std::size_t, std::size_t>> written_;  ///< begin, end of pieces that kernels may write, in order
  bool is_real_ = false, wrote_outside_ = false;
};

}  // namespace casync::compll
