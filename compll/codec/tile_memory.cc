// SPDX-License-Identifier: Apache-2.0
#include "compll/codec/tile_memory.h"

#include <hwy/cache_control.h>

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "base/check.h"

namespace casync::compll {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr Bytes kStreamBytes = 16_MiB;

struct Free {
  void operator()(float* memory) const { std::free(memory); }
};

struct TileMemory {
  std::unique_ptr<float, Free> floats;
  Elements size = 0;
};

}  // namespace

float* tile_memory(Elements count) {
  thread_local TileMemory memory;
  if (memory.size < count) {
    memory.floats.reset(
        static_cast<float*>(std::aligned_alloc(kAlignment, round_up(count * sizeof(float), kAlignment))));
    CASYNC_CHECK(memory.floats != nullptr);
    memory.size = count;
  }
  return memory.floats.get();
}

Write write_mode(const float* out, Elements n) {
  const bool aligned = reinterpret_cast<std::uintptr_t>(out) % kAlignment == 0;
  return aligned && n * sizeof(float) >= kStreamBytes ? Write::kStream : Write::kPlain;
}

void finish_writes(Write mode) {
  if (mode == Write::kStream) hwy::FlushStream();
}

}  // namespace casync::compll
