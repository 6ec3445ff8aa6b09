// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "runtime/control/group/gather_book.h"
#include "runtime/control/wire/frame.h"
#include "runtime/control/wire/identity.h"

namespace casync::runtime {

/// Takes the collective calls of all ranks, at rank 0, and hands out their answers. All on the group's thread.
class CallDesk {
 public:
  struct Events {
    /// Sends to one rank, and to all others.
    std::function<void(Rank to, FrameType type, std::string payload)> send;
    std::function<void(FrameType type, std::string payload)> broadcast;
    /// The answer to rank 0's own call.
    std::function<void(Result<std::vector<BlobRef>> blobs)> gathered;
  };
  CallDesk(int ranks, Events events) : events_(std::move(events)), book_(ranks) {}

  void enter(Rank rank, GatherCall call);
  /// Answers the calls whose time is up. Returns when it has to be called again at the latest.
  Clock::time_point tend(Clock::time_point now);

  /// The rank waits for a call of its own: it can make no other.
  bool is_waiting(Rank rank) const { return book_.is_waiting(rank); }
  /// The name of a call that is waiting, "" when there is none.
  std::string waiting_for() const { return book_.waiting_for(); }
  /// The ranks that have not made a call of this name which others wait for; none if nobody waits.
  std::vector<Rank> missing(const std::string& what) const { return book_.missing(what); }

 private:
  void deliver(const GatherAnswer& answer);

  Events events_;
  GatherBook book_;
};

}  // namespace casync::runtime
