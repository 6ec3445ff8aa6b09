// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/ucx/out_messages.h"

namespace casync::runtime {

OutMessages::Entry* OutMessages::take(Pool<Entry>& pool, Rank to) {
  Entry* const message = pool.take();
  message->to = to;
  message->active = true;
  ++of(to).count;
  of(to).used = true;
  message->payload = {};
  message->next_offset = 0;
  message->pieces_under_way = 0;
  message->bytes_under_way = 0;
  message->is_put_off = false;
  message->all_started = false;
  message->unasked = false;
  message->status = Status();
  message->cookies.clear();
  return message;
}

OutMessage* OutMessages::take(Rank to) {
  Entry* const message = take(single_, to);
  Entry*& newest = of(to).newest;
  message->newer = nullptr;
  message->older = newest;
  if (newest != nullptr) newest->newer = message;
  newest = message;
  return message;
}

OutMessage* OutMessages::take_fused(Rank to) {
  Entry* const message = take(fused_, to);
  message->is_fused = true;
  return message;
}

void OutMessages::give(OutMessage& message) {
  auto& entry = static_cast<Entry&>(message);
  entry.active = false;
  --of(entry.to).count;
  if (entry.is_fused) return fused_.give(&entry);
  (entry.newer != nullptr ? entry.newer->older : of(entry.to).newest) = entry.older;
  if (entry.older != nullptr) entry.older->newer = entry.newer;
  single_.give(&entry);
}

}  // namespace casync::runtime
