// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/held_memory.h"

#include <fmt/core.h>

namespace casync::runtime {
namespace {

// A peer with more than this put off here is hostile, or does not obey FrameKind::kCrowded.
constexpr Bytes kMaxWaitingBytes = 512_MiB;

}  // namespace

void HeldMemory::keep(Rank from, Bytes bytes) {
  Bytes& kept = bytes_[static_cast<std::size_t>(from)];
  kept += bytes;
  held_bytes_ += bytes;
  if (kept <= kMaxWaitingBytes) return;
  refuse_(from, data_loss(fmt::format("rank {} has sent {} MiB that nobody here waits for", from, kept / 1_MiB)));
}

}  // namespace casync::runtime
