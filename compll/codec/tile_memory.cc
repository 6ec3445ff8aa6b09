// SPDX-License-Identifier: Apache-2.0
#include "compll/codec/tile_memory.h"

#include <hwy/cache_control.h>

#include <cstdint>
#include <memory>
#include <new>

namespace casync::compll {
namespace {

constexpr std::size_t kAlignment = 64;
// Measured: from this size on streamed stores win if the data is in no cache, and they lose least if it is.
constexpr Bytes kStreamedResidual = 1_MiB;
constexpr Bytes kStreamedOutput = 16_MiB;

struct Free {
  void operator()(float* memory) const { ::operator delete (memory, std::align_val_t{kAlignment}); }
};

struct ThreadMemory {
  std::unique_ptr<float, Free> floats;
  Elements size = 0;
};

Write mode_of(const float* out, Elements n, Bytes least) {
  const bool aligned = reinterpret_cast<std::uintptr_t>(out) % kAlignment == 0;
  return aligned && n * sizeof(float) >= least ? Write::kStream : Write::kPlain;
}

float* sized(ThreadMemory& memory, Elements count) {
  if (memory.size < count) {
    // Calls the operator new that a test can count.
    memory.floats.reset(static_cast<float*>(::operator new (count * sizeof(float), std::align_val_t{kAlignment})));
    memory.size = count;
  }
  return memory.floats.get();
}

}  // namespace

float* tile_memory(Elements count) {
  thread_local ThreadMemory memory;
  return sized(memory, count);  // NOLINT(clang-analyzer-cplusplus.NewDelete): the thread's, not this call's
}

float* partition_memory(Elements count) {
  thread_local ThreadMemory memory;
  return sized(memory, count);  // NOLINT(clang-analyzer-cplusplus.NewDelete): the thread's, not this call's
}

std::byte* image_memory(Bytes bytes) {
  thread_local ThreadMemory memory;
  return reinterpret_cast<std::byte*>(sized(memory, ceil_div(bytes, sizeof(float))));  // NOLINT: the thread's
}

Write residual_mode(const float* out, Elements n) { return mode_of(out, n, kStreamedResidual); }

Write decoded_mode(const float* out, Elements n) { return mode_of(out, n, kStreamedOutput); }

void finish_writes(Write mode) {
  if (mode == Write::kStream) hwy::FlushStream();
}

}  // namespace casync::compll
