// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/call_desk.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "runtime/control/group/messages.h"

namespace casync::runtime {
namespace {

Bytes size_of(const std::vector<BlobRef>& blobs) {
  Bytes sum = 0;
  for (const BlobRef& blob : blobs) sum += blob->size() + 4;
  return sum;
}

}  // namespace

void CallDesk::enter(Rank rank, GatherCall call) {
  if (const std::optional<GatherAnswer> answer = book_.call(rank, std::move(call))) deliver(*answer);
}

Clock::time_point CallDesk::tend(Clock::time_point now) {
  for (const GatherAnswer& answer : book_.expire(now)) deliver(answer);
  return book_.next_deadline();
}

void CallDesk::deliver(const GatherAnswer& answer) {
  const bool mine = std::find(answer.to.begin(), answer.to.end(), 0) != answer.to.end();
  if (!answer.blobs) {
    for (const Rank to : answer.to) {
      if (to != 0) events_.send(to, FrameType::kRefused, encode_abort({-1, answer.blobs.status()}));
    }
  } else if (size_of(*answer.blobs) <= kMostTogether) {
    events_.broadcast(FrameType::kAllGathered, encode_all_gathered(*answer.blobs));  // made once, hashed once
  } else {
    Rank from = 0;
    for (const BlobRef& blob : *answer.blobs) events_.broadcast(FrameType::kGathered, encode_gathered(from++, *blob));
  }
  if (mine) events_.gathered(answer.blobs);
}

}  // namespace casync::runtime
