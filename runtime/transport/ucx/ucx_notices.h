// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "base/units.h"
#include "runtime/transport/peers.h"
#include "runtime/transport/ucx/ucx_sender.h"
#include "runtime/transport/ucx/ucx_worker.h"

namespace casync::runtime {

/// A rank's last notices to its peers: a question to each whether everything has arrived, and goodbye. Invariant: a
/// peer is asked once, and is told goodbye once. On the transport's thread; borrows everything.
class UcxNotices {
 public:
  UcxNotices(int ranks, UcxWorker& worker, Peers& peers, UcxSender& sender);

  /// From now on peers are asked, each once all that was sent to it has left.
  void begin_settling() { settling_ = true; }
  /// Asks those that can be asked by now.
  void ask_to_settle();
  /// All peers that something was sent to have confirmed that it has arrived, or are gone.
  bool settled() const;
  /// The others.
  std::vector<Rank> unsettled() const;

  /// Says goodbye to each peer that there is a connection to, also to one whose first message came since the last call.
  void say_goodbye();
  bool greeted(Rank peer) const { return greeted_[static_cast<std::size_t>(peer)]; }
  /// Every peer that this rank has a connection to has left or failed.
  bool everybody_left() const;

 private:
  bool has_confirmed(Rank peer) const { return !sender_.messages().used(peer) || peers_.settled(peer); }

  UcxWorker& worker_;
  Peers& peers_;
  UcxSender& sender_;
  bool settling_ = false;
  std::vector<bool> asked_;    // by rank
  std::vector<bool> greeted_;  // by rank
};

}  // namespace casync::runtime
