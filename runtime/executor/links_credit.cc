// SPDX-License-Identifier: Apache-2.0
//
// Sending by credit, where the plan has one. Words of arrivals are messages without a payload.
#include <algorithm>

#include "base/check.h"
#include "casync/graph/fuse.h"
#include "runtime/executor/links.h"
#include "runtime/executor/message_hops.h"

namespace casync::runtime {

void Links::set_credit(Bytes bytes, const Topology& topology) {
  CASYNC_CHECK(!options_.coordinated && bytes > 0);
  credit_ = std::make_unique<LinkCredit>(bytes, topology, options_.rank);
}

void Links::put_off(Rank from, const MessageKey& message) {
  if (credit_ != nullptr) credit_->put_off(from, message);
}

void Links::received(Rank from, const MessageKey& message) {
  if (credit_ != nullptr) credit_->received(from, message);
}

void Links::arrived(Rank at, const MessageKey& message) {
  if (credit_ != nullptr) credit_->arrived(at, message);
}

/// Hands over the most urgent message of each port, whoever it is for, until its credit is used up: the next one waits
/// then, and so does all that is less urgent.
bool Links::flush_by_credit(Clock::time_point now) {
  bool any = false;
  for (std::size_t port = 0; port < LinkCredit::kPorts; ++port) {
    while (true) {
      Rank next = -1;
      for (const Rank peer : busy_) {
        if (credit_->port_of(peer) != port || take_stale(link(peer).ready)) continue;
        if (next < 0 || link(next).ready.top().after(link(peer).ready.top())) next = peer;
      }
      if (next < 0 || !credit_->admits(port, outgoing_(link(next).ready.top()).payload.size)) break;
      flush_one(next, now);
      any = true;
    }
  }
  std::erase_if(busy_, [&](Rank peer) {
    PeerLink& one = link(peer);
    one.busy = !take_stale(one.ready);
    return !one.busy;
  });
  return any;
}

/// Sends the words that are due, those for one peer together.
bool Links::send_words() {
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
    transport_.send(words[i].to, fused_);
    fused_.clear();
  }
  words.clear();
  return true;
}

}  // namespace casync::runtime
