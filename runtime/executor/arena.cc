// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/arena.h"

#include <algorithm>

#include "base/check.h"

namespace casync::runtime {

Status Arena::add(const Layout& layout) {
  Result<std::unique_ptr<DeviceBuffer>> block = device_.allocate(layout.total_bytes, Memory::kPinned);
  if (!block) return block.status();
  for (const SizeClass& one : layout.classes) {
    auto slots = std::lower_bound(classes_.begin(), classes_.end(), one.slot_bytes,
                                  [](const Slots& a, Bytes bytes) { return a.bytes < bytes; });
    if (slots == classes_.end() || slots->bytes != one.slot_bytes) {
      slots = classes_.insert(slots, Slots{one.slot_bytes, 0, {}});
    }
    slots->total += one.slots;
    slots->free.reserve(slots->total);  // all of them at once: giving back never allocates
    // Under those already free: new ones are colder.
    std::vector<std::byte*> cold;
    for (std::size_t i = one.slots; i-- > 0;) cold.push_back((*block)->view().data + one.first + i * one.slot_bytes);
    slots->free.insert(slots->free.begin(), cold.begin(), cold.end());
  }
  reserved_ += layout.total_bytes;
  blocks_.push_back(std::move(*block));
  return Status::ok();
}

Arena::Slots& Arena::of_size(Bytes bytes) {
  const Bytes size = round_up(bytes, kSlotAlignment);
  const auto found = std::lower_bound(classes_.begin(), classes_.end(), size,
                                      [](const Slots& one, Bytes wanted) { return one.bytes < wanted; });
  CASYNC_CHECK(found != classes_.end() && found->bytes == size);
  return *found;
}

View Arena::take(Bytes bytes) {
  Slots& slots = of_size(bytes);
  CASYNC_CHECK(!slots.free.empty());
  std::byte* const memory = slots.free.back();
  slots.free.pop_back();
  return {memory, bytes};
}

void Arena::give_back(View slot) { of_size(slot.size).free.push_back(slot.data); }

}  // namespace casync::runtime
