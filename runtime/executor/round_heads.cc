// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/round_heads.h"

#include "compll/codec/payload.h"
#include "runtime/device/codec_kernels.h"
#include "runtime/executor/round_room.h"

namespace casync::runtime {
namespace {

// A payload's head, or what an identity's kernel says of its elements.
constexpr Bytes kSlot = compll::kHeaderBytes;
static_assert(kSlot == kDevicePayloadHead);

// Place of the word in a head whose first bit says that elements are not finite.
constexpr Bytes kFlags = 4;

constexpr std::size_t kHops = 4;

std::size_t slot_of(const Buffer& made) { return kHops * made.partition + static_cast<std::size_t>(made.hop); }

}  // namespace

RoundHeads::RoundHeads(std::span<GradientRun* const> runs, const std::vector<bool>& all_reduced) {
  std::size_t slots = 0;
  for (std::size_t g = 0; g < runs.size(); ++g) {
    const GradientRun& run = *runs[g];
    first_.push_back(slots);
    const std::size_t reductions = run.rounds ? run.rounds->exchanges().size() : 1;
    slots += all_reduced[g] ? reductions : kHops * static_cast<std::size_t>(run.decision.partitions);
  }
  first_.push_back(slots);
  is_reserved_.resize(slots);
}

bool RoundHeads::reserve(std::uint32_t gradient, const Buffer& made) {
  const std::size_t at = first_[gradient] + slot_of(made);
  if (at >= first_[gradient + 1] || is_reserved_[at]) return false;
  is_reserved_[at] = true;
  return true;
}

Bytes RoundHeads::bytes() const { return round_up(slots().size(), kRoundAlignment); }

void RoundHeads::place(DeviceView memory, View pinned) {
  memory_ = memory;
  pinned_ = pinned;
}

DeviceView RoundHeads::slot(std::size_t at) const { return memory_.slice(at * kSlot, kSlot); }
DeviceView RoundHeads::slots() const {
  const std::size_t gradients = first_.size() - 1;
  return memory_.slice(0, (first_.back() + gradients) * kSlot);
}

DeviceView RoundHeads::of_payload(std::uint32_t gradient, const Buffer& made) const {
  return slot(first_[gradient] + slot_of(made));
}

DeviceView RoundHeads::of_result(std::uint32_t gradient) const {
  return slot(result_slot(gradient)).slice(kFlags, sizeof(KernelWord));
}

bool RoundHeads::say_finite(std::uint32_t gradient) const {
  const auto says_finite = [&](std::size_t at) { return compll::says_finite(pinned_.data + at * kSlot); };
  for (std::size_t s = first_[gradient]; s < first_[gradient + 1]; ++s) {
    if (!says_finite(s)) return false;
  }
  return says_finite(result_slot(gradient));
}

}  // namespace casync::runtime
