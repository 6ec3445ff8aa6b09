// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/gone_ranks.h"

namespace casync::runtime {

bool GoneRanks::note_broken(Rank peer, const Status& why) {
  std::lock_guard lock(mutex_);
  return note(peer, why);
}

bool GoneRanks::note_left(Rank peer, const Status& why, bool is_ahead) {
  std::lock_guard lock(mutex_);
  if (is_ahead ? closed_.load() : !note(peer, why)) return false;
  left_.insert(peer);
  return true;
}

bool GoneRanks::note(Rank peer, const Status& why) {
  // A peer that said goodbye has had everything confirmed, and its connections may end.
  if (closed_ || (left_.contains(peer) && why.code() == StatusCode::kPeerFailure)) return false;
  if (first_.is_ok()) first_ = why;  // the first explains the others
  return true;
}

}  // namespace casync::runtime
