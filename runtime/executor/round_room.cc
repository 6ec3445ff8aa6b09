// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/round_room.h"

#include <algorithm>
#include <utility>

namespace casync::runtime {

void RoundRoom::add_call(const KernelRoom& room) {
  most_call_ = std::max(most_call_, round_up(room.device, kRoundAlignment));
  pinned_of_.push_back(round_up(room.pinned, kRoundAlignment));
  pinned_bytes_ += pinned_of_.back();
}

void RoundRoom::place(DeviceView device, View pinned) {
  is_placed_ = true;
  device_ = device;
  pinned_ = pinned;
}

void RoundRoom::begin_step() {
  pinned_taken_ = 0;
  calls_ = 0;
}

DeviceView RoundRoom::take_vector(Bytes bytes) {
  const Bytes at = std::exchange(vectors_, vectors_ + round_up(bytes, kRoundAlignment));
  if (is_placed_) return device_.slice(at, bytes);
  most_vectors_ = std::max(most_vectors_, vectors_);
  return without_place(bytes);
}

RoundRoom::Call RoundRoom::next_call() {
  const Bytes pinned = pinned_of_[calls_++];
  return {device_.slice(most_vectors_, most_call_),
          pinned_.slice(std::exchange(pinned_taken_, pinned_taken_ + pinned), pinned)};
}

}  // namespace casync::runtime
