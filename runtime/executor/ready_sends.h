// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/units.h"
#include "runtime/executor/gradient_run.h"
#include "runtime/executor/ready_queue.h"

namespace casync::runtime {

/// This rank's sends that are ready, by the peer that gets them, and a list of the peers that have some. The progress
/// thread's.
class ReadySends {
 public:
  explicit ReadySends(int ranks);

  /// Makes room for all sends of these runs at once. Peers that no graph uses take none.
  void reserve(std::span<GradientRun* const> runs);
  void push(Rank to, const ReadyTask& ready);

  /// Drops sends of bundles that have been dissolved from the top. Returns true if none is left for the peer.
  bool is_empty(Rank peer) { return take_stale(queue(peer)); }
  /// The most urgent one of a peer that has some.
  const ReadyTask& top(Rank peer) const { return queues_[static_cast<std::size_t>(peer)].top(); }
  ReadyTask pop(Rank peer) { return queue(peer).pop(); }
  template <class Visit>
  void for_each(Rank peer, Visit visit) const {
    queues_[static_cast<std::size_t>(peer)].for_each(visit);
  }

  /// Lists a peer, also if nothing is ready for it.
  void list(Rank peer);
  std::span<const Rank> listed() const { return listed_; }
  /// Calls keep(Rank) for each listed peer in turn, and strikes it off unless that returns true. `keep` lists none.
  template <class Keep>
  void keep_listed(Keep keep);

 private:
  ReadyQueue& queue(Rank peer) { return queues_[static_cast<std::size_t>(peer)]; }

  std::vector<ReadyQueue> queues_;  ///< by peer
  std::vector<bool> is_listed_;     ///< by peer
  std::vector<Rank> listed_;
};

template <class Keep>
void ReadySends::keep_listed(Keep keep) {
  std::size_t kept = 0;
  for (const Rank peer : listed_) {
    const bool stays = keep(peer);
    is_listed_[static_cast<std::size_t>(peer)] = stays;
    if (stays) listed_[kept++] = peer;
  }
  listed_.resize(kept);
}

}  // namespace casync::runtime
