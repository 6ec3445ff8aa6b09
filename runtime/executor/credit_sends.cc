// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/credit_sends.h"

#include <algorithm>

#include "casync/graph/fuse.h"
#include "runtime/executor/message_hops.h"

namespace casync::runtime {

CreditSends::CreditSends(Bytes bytes, const Topology& topology, Rank self, Transport& transport, ReadySends& sends,
                         Handover& handover)
    : credit_(bytes, topology, self), transport_(transport), sends_(sends), handover_(handover) {
  fused_.reserve(kMostFused);
}

/// The peer of the port's most urgent send; -1: none is ready.
Rank CreditSends::most_urgent(std::size_t port) {
  Rank next = -1;
  for (const Rank peer : sends_.listed()) {
    if (credit_.port_of(peer) != port || sends_.is_empty(peer)) continue;
    if (next < 0 || sends_.top(next).after(sends_.top(peer))) next = peer;
  }
  return next;
}

bool CreditSends::flush(Clock::time_point now) {
  bool any = false;
  for (std::size_t port = 0; port < LinkCredit::kPorts; ++port) {
    while (true) {
      const Rank next = most_urgent(port);
      if (next < 0 || !credit_.admits(port, handover_.bytes_of(sends_.top(next)))) break;
      handover_.hand_over(next, now, &credit_);
      any = true;
    }
  }
  sends_.keep_listed([&](Rank peer) { return !sends_.is_empty(peer); });
  return any;
}

bool CreditSends::send_words() {
  std::vector<LinkCredit::Word>& words = credit_.words();
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
