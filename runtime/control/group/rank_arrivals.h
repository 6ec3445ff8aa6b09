// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "runtime/control/group/assembly.h"
#include "runtime/control/group/ending.h"
#include "runtime/control/group/messages.h"
#include "runtime/control/group/seats.h"
#include "runtime/control/wire/connection.h"
#include "runtime/control/wire/door.h"
#include "runtime/control/wire/handshake.h"
#include "runtime/control/wire/identity.h"
#include "runtime/control/wire/poll_set.h"

namespace casync::runtime {

/// The arrival of ranks at rank 0: lets them in by the door, gives them seats, and says when all are here. All on the
/// group's thread.
class RankArrivals {
 public:
  struct Events {
    /// All ranks are here. Once.
    std::function<void(const std::vector<Identity>& roster)> complete;
    /// A caller does not belong to the job, or ranks are missing at the deadline.
    std::function<void(const Status& cause)> failed;
  };
  /// `door` is absent in a job of one rank. Borrows the seats and the job's ending.
  RankArrivals(const Identity& self, std::uint64_t epoch, Clock::time_point deadline, std::optional<Door> door,
               Seats& seats, Ending& ending, Events events);

  /// `set` outlives the arrivals.
  void attach(PollSet& set);
  /// A rank of a large job has come, and takes children in.
  void take_in(Here here);
  /// Looks at the deadline, and sends away callers at the door that take too long. Both return when they have to be
  /// called again at the latest.
  Clock::time_point tend(Clock::time_point now);
  Clock::time_point tend_door(Clock::time_point now);
  void close_door();

  bool is_complete() const { return assembly_.is_complete(); }
  /// A rank of the complete job.
  const Identity& of(Rank rank) const { return assembly_.of(rank); }
  /// The ranks that have come, without rank 0.
  const std::map<Rank, Identity>& here() const { return assembly_.here(); }

 private:
  Verdict judge(const Hello& hello);
  void admit(const Identity& who, Connection connection);
  void take_in(const Identity& who);
  void complete();

  const int ranks_;
  std::optional<Door> door_;
  Seats& seats_;
  Ending& ending_;
  Events events_;
  Assembly assembly_;
};

}  // namespace casync::runtime
