// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/status.h"
#include "base/units.h"
#include "base/view.h"
#include "runtime/transport/frame.h"
#include "runtime/transport/pool.h"

namespace casync::runtime {

/// A message on its way out. Plain data of its sender.
struct OutMessage {
  Rank to = 0;
  FrameHeader header;
  ConstView payload;
  Bytes next_offset = 0;
  Bytes pieces_under_way = 0;
  Bytes bytes_under_way = 0;
  bool is_put_off = false;  ///< not in the queue then, and its bytes do not count there
  bool all_started = false;
  bool unasked = false;  ///< as Outgoing::unasked
  Status status;
  std::vector<std::uint64_t> cookies;  ///< none: a goodbye
  OutMessage* next = nullptr;          ///< in the queue of its peer
};

/// The messages that have not ended, by peer. Invariant: one is in use from take() to give(), and by then in the list
/// of its peer, unless it is fused. Memory is used again.
class OutMessages {
 public:
  explicit OutMessages(int ranks) : peers_(static_cast<std::size_t>(ranks)) {}

  /// A message without anything but its peer.
  OutMessage* take(Rank to);
  /// The same with a buffer for the bytes of several.
  OutMessage* take_fused(Rank to);
  /// The buffer of a fused message.
  static std::vector<std::byte>& buffer_of(OutMessage& message) { return static_cast<Entry&>(message).fused; }
  void give(OutMessage& message);

  /// No message to this peer, or to anybody, is in use.
  bool idle(Rank to) const { return of(to).count == 0; }
  bool idle() const { return single_.in_use() == 0 && fused_.in_use() == 0; }
  /// A message to this peer has been taken at some time.
  bool used(Rank to) const { return of(to).used; }

  /// Calls f(OutMessage&) for the messages to a peer, without fused ones, from the newest on. It may end that message.
  template <class F>
  void for_each_of(Rank to, F f) {
    for (Entry* entry = of(to).newest; entry != nullptr;) {
      Entry* const older = entry->older;
      f(*entry);
      entry = older;
    }
  }
  /// Calls f(OutMessage&) for all. It may end that message.
  template <class F>
  void for_each(F f) {
    for (Pool<Entry>* pool : {&single_, &fused_}) {
      pool->for_each([&](Entry& entry) {
        if (entry.active) f(entry);
      });
    }
  }

 private:
  struct Entry : OutMessage {
    bool active = false;  // else: in its pool
    bool is_fused = false;
    std::vector<std::byte> fused;  // the bytes of a fused message, else never used
    Entry* newer = nullptr;        // in the list of its peer
    Entry* older = nullptr;
  };
  struct Peer {
    std::size_t count = 0;
    Entry* newest = nullptr;
    bool used = false;
  };
  Entry* take(Pool<Entry>& pool, Rank to);
  Peer& of(Rank to) { return peers_[static_cast<std::size_t>(to)]; }
  const Peer& of(Rank to) const { return peers_[static_cast<std::size_t>(to)]; }

  std::vector<Peer> peers_;
  Pool<Entry> single_;
  Pool<Entry> fused_;  // apart: only these need a buffer
};

}  // namespace casync::runtime
