// SPDX-License-Identifier: Apache-2.0
#include "runtime/executor/coordinated_sends.h"

#include <algorithm>
#include <utility>

#include "runtime/executor/message_hops.h"

namespace casync::runtime {
namespace {

// A rank sends without leave after so long a silence of the coordinator, or if messages that have leave do not leave
// (the peer may be waiting for later ones): that is slow, and never a hang.
constexpr std::chrono::milliseconds kWithoutLeave{20};

constexpr Rank kCoordinator = 0;

}  // namespace

CoordinatedSends::CoordinatedSends(const ExecutorOptions& options, Transport& transport, ReadySends& sends,
                                   Handover& handover)
    : options_(options),
      transport_(transport),
      sends_(sends),
      handover_(handover),
      leaves_(static_cast<std::size_t>(options.ranks)) {
  if (options.rank == kCoordinator) coordinator_ = std::make_unique<LinkCoordinator>(options.ranks);
}

void CoordinatedSends::tell(Rank to, std::uint32_t hop, Rank about, Bytes bytes) {
  // No two are alike.
  send_word(transport_, to,
            {.gradient = bytes, .step = ++told_, .partition = static_cast<std::uint32_t>(about), .hop = hop});
}

void CoordinatedSends::take(Rank from, const Message& message) {
  const auto about = static_cast<Rank>(message.key.partition);
  if (about < 0 || about >= options_.ranks || about == from) return;
  if (message.key.hop == kGrantHop && from == kCoordinator && about != options_.rank) allow(about);
  if (coordinator_ == nullptr) return;
  if (message.key.hop == kWantHop) coordinator_->want(from, about, message.key.gradient, Clock::now());
  if (message.key.hop == kEndHop) coordinator_->done(from, about);
}

/// The coordinator has given leave, also if all has left without it: then it must end.
void CoordinatedSends::allow(Rank peer) {
  leave(peer).granted = true;
  sends_.list(peer);
}

void CoordinatedSends::want(Rank peer, Clock::time_point now) {
  Leave& one = leave(peer);
  if (std::exchange(one.wanted, true)) return;
  one.waits_since = now;
  Bytes bytes = 0;
  sends_.for_each(peer, [&](const ReadyTask& ready) { bytes += handover_.bytes_of(ready); });
  bytes = std::max<Bytes>(bytes, 1);
  if (coordinator_ != nullptr) {
    coordinator_->want(kCoordinator, peer, bytes, now);
  } else {
    tell(kCoordinator, kWantHop, peer, bytes);
  }
}

void CoordinatedSends::end_grant(Rank peer) {
  if (!std::exchange(leave(peer).in_grant, false)) return;
  if (coordinator_ != nullptr) {
    coordinator_->done(kCoordinator, peer);
  } else {
    tell(kCoordinator, kEndHop, peer, 0);
  }
}

void CoordinatedSends::sent(Rank to) {
  if (handover_.is_idle(to)) end_grant(to);
}

bool CoordinatedSends::flush() {
  if (sends_.listed().empty() && coordinator_ == nullptr) return false;
  const Clock::time_point now = Clock::now();
  bool any = false;
  grant(now);
  sends_.keep_listed([&](Rank peer) {
    any |= flush(peer, now);
    return !sends_.is_empty(peer);
  });
  grant(now);
  return any;
}

/// Hands over everything that is ready for a peer, or asks for leave. Returns true if something was.
bool CoordinatedSends::flush(Rank peer, Clock::time_point now) {
  Leave& one = leave(peer);
  const bool granted = std::exchange(one.granted, false);
  if (granted) {
    one.wanted = false;
    one.in_grant = true;
  }
  if (sends_.is_empty(peer)) {
    one.waits = false;
    if (granted && handover_.is_idle(peer)) end_grant(peer);  // nothing is left to be sent
    return false;
  }
  if (granted || (one.waits && now >= one.waits_since + kWithoutLeave)) {
    while (!sends_.is_empty(peer)) handover_.hand_over(peer, now);
    one.waits = false;
    return true;
  }
  if (!std::exchange(one.waits, true)) one.waits_since = now;
  if (!one.in_grant) want(peer, now);
  return false;
}

/// Lets the coordinator, if it is here, give leave to those whose turn it is.
void CoordinatedSends::grant(Clock::time_point now) {
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

Clock::time_point CoordinatedSends::due() const {
  Clock::time_point due = coordinator_ == nullptr ? Clock::time_point::max() : coordinator_->next_due();
  for (const Rank peer : sends_.listed()) {
    const Leave& one = leave(peer);
    const bool sleeps = one.waits && !one.granted;
    due = std::min(due, sleeps ? one.waits_since + kWithoutLeave : Clock::time_point{});
  }
  return due;
}

}  // namespace casync::runtime
