// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "runtime/control/group/messages.h"
#include "runtime/control/group/tree.h"
#include "runtime/control/wire/handshake.h"

namespace casync::runtime {

/// The ranks that have come to rank 0 while a job comes together: it says which newcomers may come in, where each of
/// them connects, and which ranks are missing. Plain data, kept by rank 0.
class Assembly {
 public:
  /// The job gives up at `deadline`, counted from `now`.
  Assembly(const Identity& self, std::uint64_t epoch, Clock::time_point now, Clock::time_point deadline);

  /// InvalidArgument: the newcomer is of another build or another job, or its rank is that of another process.
  /// `seated`: the process that sits on its rank's seat, null for none.
  Status check(const Identity& who, const Identity* seated) const;
  /// The answer to a newcomer that may come in. In a large job most of them go to another rank. The rank that started
  /// first gives up first, and the job with it.
  Verdict place(const Hello& hello, Clock::time_point now);
  /// A rank of a large job takes children in at these addresses.
  void listens(Here here) { tree_.listens(here.who, std::move(here.addresses)); }

  /// InvalidArgument: another process has that rank.
  Status take_in(const Identity& who);
  bool has_all() const { return static_cast<int>(here_.size()) + 1 == self_.ranks; }
  /// All are here: from now on there is a roster, and nobody comes in any more.
  void complete();
  bool is_complete() const { return !roster_.empty(); }
  /// By rank; empty until the job is complete.
  const std::vector<Identity>& roster() const { return roster_; }
  const Identity& of(Rank rank) const { return roster_[static_cast<std::size_t>(rank)]; }
  /// The ranks that have come, without rank 0.
  const std::map<Rank, Identity>& here() const { return here_; }

  Clock::time_point deadline() const { return deadline_; }
  /// Says whom the job waits for, ever more seldom. Returns when it will again.
  Clock::time_point remind(Clock::time_point now);
  /// Timeout: "ranks 2, 3 of 4 did not come within 2.0 s", and the callers that were refused, "" for none.
  Status gave_up(Clock::time_point now, const std::string& refused) const;

 private:
  std::vector<Rank> missing() const;

  Identity self_;
  std::uint64_t epoch_;
  Clock::time_point started_, deadline_, remind_at_;
  std::map<Rank, Identity> here_;
  Tree tree_;
  std::vector<Identity> roster_;
};

}  // namespace casync::runtime
