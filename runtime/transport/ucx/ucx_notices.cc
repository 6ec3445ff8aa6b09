// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/ucx/ucx_notices.h"

namespace casync::runtime {

UcxNotices::UcxNotices(int ranks, UcxWorker& worker, Peers& peers, UcxSender& sender)
    : worker_(worker),
      peers_(peers),
      sender_(sender),
      asked_(static_cast<std::size_t>(ranks)),
      greeted_(static_cast<std::size_t>(ranks)) {}

// Sends kSettle to a peer after everything else: its fetches have ended, and eager messages arrive in order.
void UcxNotices::ask_to_settle() {
  if (!settling_) return;
  for (std::size_t at = 0; at < asked_.size(); ++at) {
    const auto peer = static_cast<Rank>(at);
    if (asked_[at] || !sender_.messages().used(peer) || !sender_.messages().idle(peer) || !peers_.alive(peer)) continue;
    asked_[at] = true;
    sender_.send_notice(peer, FrameKind::kSettle);
  }
}

bool UcxNotices::settled() const {
  if (!settling_) return false;
  for (std::size_t at = 0; at < asked_.size(); ++at) {
    if (!has_confirmed(static_cast<Rank>(at))) return false;
  }
  return true;
}

std::vector<Rank> UcxNotices::unsettled() const {
  std::vector<Rank> peers;
  for (std::size_t at = 0; at < asked_.size(); ++at) {
    if (!has_confirmed(static_cast<Rank>(at))) peers.push_back(static_cast<Rank>(at));
  }
  return peers;
}

void UcxNotices::say_goodbye() {
  for (std::size_t at = 0; at < greeted_.size(); ++at) {
    const auto peer = static_cast<Rank>(at);
    if (greeted_[at] || !worker_.endpoints().reached(peer) || !peers_.alive(peer)) continue;
    greeted_[at] = true;
    sender_.send_notice(peer, FrameKind::kGoodbye);
  }
}

bool UcxNotices::everybody_left() const {
  for (std::size_t at = 0; at < greeted_.size(); ++at) {
    const auto peer = static_cast<Rank>(at);
    if (worker_.endpoints().reached(peer) && peers_.alive(peer)) return false;
  }
  return true;
}

}  // namespace casync::runtime
