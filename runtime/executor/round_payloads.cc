// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/round_payloads.h"

#include "runtime/executor/round_room.h"

namespace casync::runtime {

RoundPayloads::RoundPayloads(std::span<GradientRun* const> runs, const std::vector<bool>& all_reduced) {
  for (std::size_t g = 0; g < runs.size(); ++g) {
    const GradientRun& run = *runs[g];
    std::vector<Place>& places = places_.emplace_back();
    for (std::size_t b = 0; !all_reduced[g] && b < run.graph.buffers().size(); ++b) {
      const BufferId id = BufferId(static_cast<std::uint32_t>(b));
      const Bytes head = run.codec_of(id).info().identity ? kDevicePayloadHead : 0;
      const Bytes size = head + run.buffers.bound_of(id);
      places.push_back({bytes_, size, head});
      bytes_ += round_up(size, kRoundAlignment);
    }
  }
}

void RoundPayloads::place(DeviceView memory) {
  is_placed_ = true;
  memory_ = memory;
}

DeviceView RoundPayloads::payload(std::uint32_t gradient, BufferId buffer) const {
  const Place& place = place_of(gradient, buffer);
  return is_placed_ ? memory_.slice(place.first, place.size) : without_place(place.size);
}

DeviceView RoundPayloads::message(std::uint32_t gradient, BufferId buffer) const {
  const Bytes head = place_of(gradient, buffer).head;
  const DeviceView whole = payload(gradient, buffer);
  return whole.slice(head, whole.size() - head);
}

KernelTerm RoundPayloads::term(std::uint32_t gradient, BufferId buffer) const {
  if (place_of(gradient, buffer).head != 0) return {{}, message(gradient, buffer)};
  return {payload(gradient, buffer), {}};
}

}  // namespace casync::runtime
