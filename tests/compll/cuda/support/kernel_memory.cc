// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/cuda/support/kernel_memory.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace casync::compll::test {
namespace {

constexpr std::size_t kGuard = 256;
constexpr unsigned char kUntouched = 0xa5;

}  // namespace

KernelMemory::Guarded KernelMemory::place(const void* bytes, std::size_t size, std::size_t shift) {
  const std::size_t all = 2 * kGuard + shift + size;
  Guarded memory{device_.allocate(all) + kGuard + shift, size, shift};
  device_.fill(memory.begin - kGuard - shift, kUntouched, all);
  if (bytes != nullptr && size != 0) device_.upload(memory.begin, bytes, size);
  return memory;
}

std::vector<std::byte> KernelMemory::fetch(const Guarded& memory) {
  std::vector<std::byte> all(2 * kGuard + memory.bytes);
  device_.download(all.data(), memory.begin - kGuard, all.size());
  const auto untouched = [](std::byte b) { return b == static_cast<std::byte>(kUntouched); };
  const auto end = all.begin() + static_cast<std::ptrdiff_t>(kGuard + memory.bytes);
  if (!std::all_of(all.begin(), all.begin() + kGuard, untouched) || !std::all_of(end, all.end(), untouched)) {
    wrote_outside_ = true;
  }
  return {all.begin() + kGuard, end};
}

std::vector<float> KernelMemory::fetch_floats(const Guarded& memory) {
  const std::vector<std::byte> bytes = fetch(memory);
  std::vector<float> floats(bytes.size() / sizeof(float));
  if (!bytes.empty()) std::memcpy(floats.data(), bytes.data(), bytes.size());
  return floats;
}

const float* KernelMemory::place_floats(const std::vector<float>& values, std::size_t shift) {
  if (values.empty()) return nullptr;
  return reinterpret_cast<const float*>(place(values.data(), 4 * values.size(), shift * sizeof(float)).begin);
}

void KernelMemory::start(cuda::Kernel kernel, const cuda::Grid& grid, const cuda::Launch& launch) {
  CASYNC_CHECK(kernel != nullptr);
  ++launches_;
  device_.launch(kernel, grid, launch);
}

void KernelMemory::check_zeros(const Guarded& memory, std::size_t bytes) {
  const std::vector<std::byte> left = fetch(memory);
  const auto end = left.begin() + static_cast<std::ptrdiff_t>(bytes);
  if (!std::all_of(left.begin(), end, [](std::byte b) { return b == std::byte{0}; })) wrote_outside_ = true;
}

}  // namespace casync::compll::test
