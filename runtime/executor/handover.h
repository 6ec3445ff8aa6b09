// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "base/units.h"
#include "runtime/executor/link_credit.h"
#include "runtime/executor/link_pace.h"
#include "runtime/executor/ready_sends.h"
#include "runtime/transport/transport.h"

namespace casync::runtime {

/// Hands ready sends over to the transport, small ones together, and knows how much is under way at each link. The
/// progress thread's.
class Handover {
 public:
  /// Makes the message of a Send that is ready.
  using MakeOutgoing = std::function<Outgoing(const ReadyTask&)>;

  /// Most payload under way to all peers together: enough for sixteen fast links' windows. With more peers than that an
  /// idle link may still begin a message.
  static constexpr Bytes kMostUnderWay = 16 * LinkPace::kWindow;

  /// Borrows `transport` and `sends`. Messages travel together up to `fusion_bytes`.
  Handover(int ranks, Bytes fusion_bytes, Transport& transport, ReadySends& sends, MakeOutgoing outgoing);

  /// The bytes of the message of a send.
  Bytes bytes_of(const ReadyTask& ready) const { return outgoing_(ready).payload.size; }
  /// Hands over the most urgent send for a peer, of which there is one, and those that travel with it. `credit`, if not
  /// null, gets to know of each message.
  void hand_over(Rank peer, Clock::time_point now, LinkCredit* credit = nullptr);
  /// A message of so many bytes has been reported as sent.
  void sent(Rank to, Bytes bytes, Clock::time_point now);

  /// When the pace of the peer's link lets the next message go, if nothing happens until then.
  Clock::time_point opens_at(Rank peer) const { return pace(peer).opens_at(is_crowded()); }
  bool is_open(Rank peer, Clock::time_point now) const { return pace(peer).is_open(now, is_crowded()); }
  /// Everything that was handed over for the peer has been reported.
  bool is_idle(Rank peer) const { return pace(peer).idle(); }

 private:
  const LinkPace& pace(Rank peer) const { return paces_[static_cast<std::size_t>(peer)]; }
  LinkPace& pace(Rank peer) { return paces_[static_cast<std::size_t>(peer)]; }
  bool is_crowded() const { return under_way_ >= kMostUnderWay; }

  const Bytes fusion_bytes_;
  Transport& transport_;
  ReadySends& sends_;
  const MakeOutgoing outgoing_;
  std::vector<LinkPace> paces_;  ///< by peer
  Bytes under_way_ = 0;          ///< handed over for all peers together, and not reported as sent
  std::vector<Outgoing> fused_;  ///< of the message that is being handed over
};

}  // namespace casync::runtime
