// SPDX-License-Identifier: Apache-2.0
#include "runtime/transport/peers.h"

#include <exception>
#include <utility>

#include <fmt/core.h>

namespace casync::runtime {

Peers::Peers(int ranks, Inbox& inbox) : inbox_(inbox), peers_(static_cast<std::size_t>(ranks)) {
  failing_.make_room(peers_.size());  // a peer fails once
}

bool Peers::may_send(Rank to, std::span<const Outgoing> outgoing) {
  Peer& peer = of(to);
  if (peer.left) fail_later(to, peer_failure(fmt::format("rank {} has closed its transport", to)));
  if (peer.status.is_ok()) return true;
  for (const Outgoing& out : outgoing) sent_later(out.cookie, peer.status);
  return false;
}

void Peers::sent_later(std::uint64_t cookie, Status status) { sent_.add({cookie, std::move(status)}); }

void Peers::goodbye(Rank rank) {
  of(rank).left = true;
  inbox_.leave(rank);
  if (inbox_.has_placed(rank)) fail(rank, left_in_a_message(rank));
}

// Returns false if it had failed already.
bool Peers::set_failed(Rank rank, Status status) {
  if (!of(rank).status.is_ok()) return false;
  of(rank).status = std::move(status);
  ++failures_;
  return true;
}

void Peers::fail_later(Rank rank, Status status) {
  if (set_failed(rank, std::move(status))) failing_.add(rank);
}

// Called in a catch block.
void Peers::fail_for_exception(Rank rank) noexcept {
  try {
    std::string what = "an exception";
    try {
      throw;
    } catch (const std::exception& error) {
      what = error.what();
    } catch (...) {
    }
    fail_later(rank, internal_error(fmt::format("serving rank {} failed here: {}", rank, what)));
  } catch (...) {
  }
}

void Peers::fail(Rank rank, Status status) {
  if (set_failed(rank, std::move(status))) tell(rank);
}

// Tells the client, and then the inbox, also where the client throws: nobody tells of this failure again.
void Peers::tell(Rank rank) {
  const Status& status = of(rank).status;
  try {
    client_->failed(rank, status);
  } catch (...) {
    inbox_.fail(rank, status);
    throw;
  }
  inbox_.fail(rank, status);
}

void Peers::end_all(const Status& status) {
  for (Peer& peer : peers_) {
    if (peer.status.is_ok()) peer.status = status;
  }
}

bool Peers::progress() {
  if (!has_news()) return false;
  // The client may send from inside these calls, which adds to the lists.
  sent_.make_all([this](const Sent& sent) { client_->sent(sent.cookie, sent.status); });
  failing_.make_all([this](Rank rank) { tell(rank); });
  return true;
}

}  // namespace casync::runtime
