// SPDX-License-Identifier: Apache-2.0
//
// Sending by the coordinator's leave, where the plan says so. The coordinator runs on rank 0's progress thread; wants,
// grants and ends are messages without a payload.
#include <algorithm>
#include <utility>

#include "runtime/executor/links.h"
#include "runtime/executor/message_hops.h"

namespace casync::runtime {
namespace {

// When the coordinator says nothing for so long, a rank sends without its leave: that is slow, and never a hang.
constexpr std::chrono::milliseconds kWithoutLeave{20};

constexpr Rank kCoordinator = 0;

}  // namespace

void Links::tell(Rank to, std::uint32_t hop, Rank about, Bytes bytes) {
  // No two are alike.
  send_word(transport_, to,
            {.gradient = bytes, .step = ++told_, .partition = static_cast<std::uint32_t>(about), .hop = hop});
}

void Links::take_coordination(Rank from, const Message& message) {
  const auto about = static_cast<Rank>(message.key.partition);
  if (about < 0 || about >= options_.ranks || about == from) return;
  if (message.key.hop == kGrantHop && from == kCoordinator && about != options_.rank) allow(about);
  if (coordinator_ == nullptr) return;
  if (message.key.hop == kWantHop) coordinator_->want(from, about, message.key.gradient, Clock::now());
  if (message.key.hop == kEndHop) coordinator_->done(from, about);
}

/// The coordinator has given leave, also if all has left without it: then it must end.
void Links::allow(Rank peer) {
  link(peer).granted = true;
  mark_busy(peer);
}

void Links::want(Rank peer, Clock::time_point now) {
  PeerLink& one = link(peer);
  if (one.wanted) return;
  one.wanted = true;
  one.wanted_since = now;
  Bytes bytes = 0;
  one.ready.for_each([&](const ReadyTask& ready) { bytes += outgoing_(ready).payload.size; });
  bytes = std::max<Bytes>(bytes, 1);
  if (options_.rank == kCoordinator) {
    coordinator_->want(kCoordinator, peer, bytes, now);
  } else {
    tell(kCoordinator, kWantHop, peer, bytes);
  }
}

void Links::end_grant(Rank peer) {
  if (!std::exchange(link(peer).in_grant, false)) return;
  if (options_.rank == kCoordinator) {
    coordinator_->done(kCoordinator, peer);
  } else {
    tell(kCoordinator, kEndHop, peer, 0);
  }
}

/// Hands over everything that is ready for each link that may send.
bool Links::flush_coordinated(Clock::time_point now) {
  bool any = false;
  grant(now);
  std::size_t kept = 0;
  for (const Rank peer : busy_) {
    PeerLink& one = link(peer);
    const bool late = one.wanted && now >= one.wanted_since + kWithoutLeave;
    if (!take_stale(one.ready) && (one.granted || late)) {
      one.in_grant = one.in_grant || one.granted;
      while (!take_stale(one.ready)) flush_one(peer, now);
      one.granted = one.wanted = false;
      any = true;
    } else if (!one.ready.empty() && !one.in_grant) {
      want(peer, now);
    } else if (one.ready.empty() && std::exchange(one.granted, false)) {
      one.wanted = false;
      one.in_grant = true;
      if (one.pace.idle()) end_grant(peer);  // nothing is left to be sent
    }
    one.busy = !one.ready.empty() || one.wanted || one.granted;
    if (one.busy) busy_[kept++] = peer;
  }
  busy_.resize(kept);
  grant(now);
  return any;
}

/// Lets the coordinator, if it is here, give leave to those whose turn it is.
void Links::grant(Clock::time_point now) {
  if (coordinator_ == nullptr) return;
  grants_.clear();
  coordinator_->grant(now, grants_);
  for (const LinkCoordinator::Grant& grant : grants_) {
    if (grant.from == kCoordinator) {
      allow(grant.to);
    } else {
      tell(grant.from, kGrantHop, grant.to, 0);
    }
  }
}

Clock::time_point Links::coordination_due() const {
  Clock::time_point due = coordinator_ == nullptr ? Clock::time_point::max() : coordinator_->next_due();
  for (const Rank peer : busy_) {
    const PeerLink& one = link(peer);
    due = std::min(due, one.granted ? Clock::time_point{} : one.wanted_since + kWithoutLeave);
  }
  return due;
}

}  // namespace casync::runtime
