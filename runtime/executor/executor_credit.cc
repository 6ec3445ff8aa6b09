// SPDX-License-Identifier: Apache-2.0
//
// Sending by credit, where the plan has one. Words of arrivals are messages without a payload.
#include <algorithm>
#include <utility>

#include "base/check.h"
#include "casync/graph/fuse.h"
#include "runtime/executor/executor.h"
#include "runtime/executor/stream_slot.h"

namespace casync::runtime {

void Executor::set_credit(Bytes bytes, const Topology& topology) {
  CASYNC_CHECK(!options_.coordinated && bytes > 0);
  credit_ = std::make_unique<LinkCredit>(bytes, topology, options_.rank);
}

/// Hands over the most urgent message of each port, whoever it is for, until its credit is used up: the next one waits
/// then, and so does all that is less urgent.
bool Executor::flush_by_credit(Clock::time_point now) {
  bool any = false;
  for (std::size_t port = 0; port < LinkCredit::kPorts; ++port) {
    while (true) {
      Rank next = -1;
      for (const Rank peer : busy_links_) {
        PeerLink& link = links_[static_cast<std::size_t>(peer)];
        if (credit_->port_of(peer) != port || take_stale(link.ready)) continue;
        if (next < 0 || links_[static_cast<std::size_t>(next)].ready.top().after(link.ready.top())) next = peer;
      }
      if (next < 0) break;
      PeerLink& link = links_[static_cast<std::size_t>(next)];
      if (!credit_->admits(port, outgoing(link.ready.top()).payload.size)) break;
      flush(next, link, now);
      any = true;
    }
  }
  std::erase_if(busy_links_, [&](Rank peer) {
    PeerLink& link = links_[static_cast<std::size_t>(peer)];
    link.busy = !take_stale(link.ready);
    return !link.busy;
  });
  return any;
}

/// Sends the words that are due, those for one peer together.
bool Executor::send_words() {
  std::vector<LinkCredit::Word>& words = credit_->words();
  if (words.empty()) return false;
  std::sort(words.begin(), words.end(), [](const auto& a, const auto& b) { return a.to < b.to; });
  fused_.clear();
  for (std::size_t i = 0; i < words.size(); ++i) {
    Message word;
    word.key = words[i].message;
    word.key.hop |= kArrivedBit;
    fused_.push_back({word, {}, kNoticeCookie});
    const bool is_last = i + 1 == words.size() || words[i + 1].to != words[i].to || fused_.size() == kMostFused;
    if (!is_last) continue;
    transport_->send(words[i].to, fused_);
    fused_.clear();
  }
  words.clear();
  return true;
}

}  // namespace casync::runtime
