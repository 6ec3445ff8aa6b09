// SPDX-License-Identifier: Apache-2.0
//
// Sending by the coordinator's leave, where the plan says so. The coordinator runs on rank 0's progress thread; wants,
// grants and ends are messages without a payload.
#include <algorithm>
#include <utility>

#include "runtime/executor/executor.h"
#include "runtime/executor/stream_slot.h"

namespace casync::runtime {
namespace {

// When the coordinator says nothing for so long, a rank sends without its leave: that is slow, and never a hang.
constexpr std::chrono::milliseconds kWithoutLeave{20};

constexpr Rank kCoordinator = 0;

}  // namespace

void Executor::tell(Rank to, std::uint32_t hop, Rank about, Bytes bytes) {
  Message notice;
  notice.key = {.gradient = bytes, .step = 0, .partition = static_cast<std::uint32_t>(about), .hop = hop};
  notice.key.step = ++notices_sent_;  // no two are alike
  const Outgoing out{notice, {}, kNoticeCookie};
  transport_->send(to, {&out, 1});
}

void Executor::take_coordination(Rank from, const Message& message) {
  const auto about = static_cast<Rank>(message.key.partition);
  if (about < 0 || about >= options_.ranks || about == from) return;
  if (message.key.hop == kGrantHop && from == kCoordinator && about != options_.rank) {
    PeerLink& link = links_[static_cast<std::size_t>(about)];
    link.granted = true;
    if (!std::exchange(link.busy, true)) busy_links_.push_back(about);  // also if all has left without it: it must end
  }
  if (coordinator_ == nullptr) return;
  if (message.key.hop == kWantHop) coordinator_->want(from, about, message.key.gradient, Clock::now());
  if (message.key.hop == kEndHop) coordinator_->done(from, about);
}

void Executor::want_link(Rank peer, PeerLink& link, Clock::time_point now) {
  if (link.wanted) return;
  link.wanted = true;
  link.wanted_since = now;
  Bytes bytes = 0;
  link.ready.for_each([&](const ReadyTask& ready) { bytes += outgoing(ready).payload.size; });
  bytes = std::max<Bytes>(bytes, 1);
  if (options_.rank == kCoordinator) {
    coordinator_->want(kCoordinator, peer, bytes, now);
  } else {
    tell(kCoordinator, kWantHop, peer, bytes);
  }
}

void Executor::end_grant(Rank peer, PeerLink& link) {
  if (!std::exchange(link.in_grant, false)) return;
  if (options_.rank == kCoordinator) {
    coordinator_->done(kCoordinator, peer);
  } else {
    tell(kCoordinator, kEndHop, peer, 0);
  }
}

/// Hands over everything that is ready for each link that may send.
bool Executor::flush_coordinated(Clock::time_point now) {
  bool any = false;
  grant_links(now);
  std::size_t kept = 0;
  for (const Rank peer : busy_links_) {
    PeerLink& link = links_[static_cast<std::size_t>(peer)];
    const bool late = link.wanted && now >= link.wanted_since + kWithoutLeave;
    if (!take_stale(link.ready) && (link.granted || late)) {
      link.in_grant = link.in_grant || link.granted;
      while (!take_stale(link.ready)) flush(peer, link, now);
      link.granted = link.wanted = false;
      any = true;
    } else if (!link.ready.empty() && !link.in_grant) {
      want_link(peer, link, now);
    } else if (link.ready.empty() && std::exchange(link.granted, false)) {
      link.wanted = false;
      link.in_grant = true;
      if (link.pace.idle()) end_grant(peer, link);  // nothing is left to be sent
    }
    link.busy = !link.ready.empty() || link.wanted || link.granted;
    if (link.busy) busy_links_[kept++] = peer;
  }
  busy_links_.resize(kept);
  grant_links(now);
  return any;
}

void Executor::grant_links(Clock::time_point now) {
  if (coordinator_ == nullptr) return;
  grants_.clear();
  coordinator_->grant(now, grants_);
  for (const LinkCoordinator::Grant& grant : grants_) {
    if (grant.from == kCoordinator) {
      PeerLink& link = links_[static_cast<std::size_t>(grant.to)];
      link.granted = true;
      if (!std::exchange(link.busy, true)) busy_links_.push_back(grant.to);
    } else {
      tell(grant.from, kGrantHop, grant.to, 0);
    }
  }
}

Clock::time_point Executor::coordination_due() const {
  Clock::time_point due = coordinator_ == nullptr ? Clock::time_point::max() : coordinator_->next_due();
  for (const Rank peer : busy_links_) {
    const PeerLink& link = links_[static_cast<std::size_t>(peer)];
    due = std::min(due, link.granted ? Clock::time_point{} : link.wanted_since + kWithoutLeave);
  }
  return due;
}

}  // namespace casync::runtime
