// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/handover.h"

#include <utility>

#include "casync/graph/fuse.h"

namespace casync::runtime {

Handover::Handover(int ranks, Bytes fusion_bytes, Transport& transport, ReadySends& sends, MakeOutgoing outgoing)
    : fusion_bytes_(fusion_bytes),
      transport_(transport),
      sends_(sends),
      outgoing_(std::move(outgoing)),
      paces_(static_cast<std::size_t>(ranks)) {
  fused_.reserve(kMostFused);
}

void Handover::hand_over(Rank peer, Clock::time_point now, LinkCredit* credit) {
  fused_.clear();
  Bytes sum = 0;
  do {
    const ReadyTask ready = sends_.pop(peer);
    fused_.push_back(outgoing_(ready));
    fused_.back().unasked = !pace(peer).is_fast();
    ready.run->tasks.begin_moving(ready.task);
    if (ready.run->parts) ready.run->parts->begin_send();
    const Bytes bytes = fused_.back().payload.size;
    pace(peer).handed_over(bytes, now);
    if (credit != nullptr) credit->handed_over(peer, fused_.back().message.key, bytes);
    under_way_ += bytes;
    sum += bytes;
  } while (!sends_.is_empty(peer) && fuses(fused_.size(), sum, bytes_of(sends_.top(peer)), fusion_bytes_));
  transport_.send(peer, fused_);
}

void Handover::sent(Rank to, Bytes bytes, Clock::time_point now) {
  pace(to).sent(bytes, now);
  under_way_ -= bytes;
}

}  // namespace casync::runtime
