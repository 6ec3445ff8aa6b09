// SPDX-License-Identifier: Apache-2.0
#include "compll/cuda/staged_memory.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

namespace casync::compll {
namespace {

constexpr std::size_t kGuard = 256;  // bytes around a piece, and its alignment
constexpr std::byte kUntouched{0xa5};
constexpr std::byte kNaN{0xff};  // makes floats that no kernel wrote visible

}  // namespace

void StagedMemory::begin(std::size_t bytes) {
  is_real_ = bytes != 0;
  used_ = kGuard;
  written_.clear();
  sent_.assign(bytes, kUntouched);
  if (bytes <= size_) return;
  device_.free(memory_);
  memory_ = device_.allocate(bytes);
  size_ = memory_ == nullptr ? 0 : bytes;
  if (memory_ == nullptr) device_.fail("it has no memory for " + std::to_string(bytes) + " bytes");
}

std::size_t StagedMemory::place(std::size_t size) {
  const std::size_t at = used_;
  used_ += (size + kGuard - 1) / kGuard * kGuard + kGuard;
  return at;
}

/// Computes an address as a number: while the size is still unknown, there is no memory to point to.
std::byte* StagedMemory::address(std::size_t at) const {
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(memory_) + at);
}

std::byte* StagedMemory::give(const void* bytes, std::size_t size) {
  const std::size_t at = place(size);
  if (is_real_ && size != 0) std::memcpy(sent_.data() + at, bytes, size);
  return address(at);
}

std::byte* StagedMemory::work(std::size_t size, std::size_t zeroed) {
  const std::size_t at = place(size);
  if (is_real_) {
    std::fill_n(sent_.data() + at, zeroed, std::byte{0});
    std::fill_n(sent_.data() + at + zeroed, size - zeroed, kNaN);
  }
  written_.push_back({at + zeroed, at + size});
  return address(at);
}

StagedMemory::Piece StagedMemory::room(const void* bytes, std::size_t size) {
  const std::size_t at = place(size);
  if (is_real_ && size != 0 && bytes != nullptr) std::memcpy(sent_.data() + at, bytes, size);
  written_.push_back({at, at + size});
  return {at, size, address(at)};
}

void StagedMemory::fetch() {
  fetched_.assign(used_, std::byte{0});
  device_.download(fetched_.data(), memory_, used_);
  if (!device_.status()) return;
  std::size_t at = 0;
  const auto check = [&](std::size_t end) {
    wrote_outside_ = wrote_outside_ || std::memcmp(sent_.data() + at, fetched_.data() + at, end - at) != 0;
  };
  for (const auto& [from, to] : written_) {
    check(from);
    at = to;
  }
  check(used_);
}

void StagedMemory::read(const Piece& piece, void* to) const {
  if (piece.size != 0) std::memcpy(to, fetched_.data() + piece.at, piece.size);
}

}  // namespace casync::compll
