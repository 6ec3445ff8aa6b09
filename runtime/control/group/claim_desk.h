// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "runtime/control/group/claim_book.h"
#include "runtime/control/group/facts.h"
#include "runtime/control/group/messages.h"
#include "runtime/control/group/own_claims.h"
#include "runtime/control/wire/frame.h"

namespace casync::runtime {

/// Compares the claims of all ranks, at rank 0: digests first, facts only of two ranks that differ. All on the group's
/// thread.
class ClaimDesk {
 public:
  struct Events {
    /// All ranks have claimed these names with the same facts.
    std::function<void(const Agreement& agreement)> agreed;
    /// A rank waits, in `step`, for a name that `by` has not claimed.
    std::function<void(Rank by, const std::string& name, std::uint32_t step)> missed;
    /// The facts of another rank's claim are needed; it answers with kTold.
    std::function<void(Rank of, const std::string& name)> asked;
    /// The ranks do not agree, or one did not come in time.
    std::function<void(const Status& cause)> failed;
  };
  ClaimDesk(int ranks, Events events) : events_(std::move(events)), book_(ranks) {}

  /// A rank's frame: kClaim, kTold, kNeeds, kLacks or kGiveUp. DataLoss: it has not its form, or repeats a claim.
  Status handle(Rank rank, FrameType type, const std::string& bytes);

  // Rank 0's own.
  void claim(std::vector<Claim> claims) { enter(0, own_.keep(std::move(claims))); }
  void need(const Needs& needs);
  void lack(Rank rank, const std::string& name);
  void give_up(const std::string& name);

  /// Ends a dispute about which a rank has told nothing for too long, as one does that ends its session. Returns when
  /// it has to be called again at the latest.
  Clock::time_point tend(Clock::time_point now);
  /// The job is over: claims are not compared any more.
  void close() { closed_ = true; }
  /// A name that somebody needs and `rank` has not claimed, "" when there is none.
  std::string needed_from(Rank rank) const { return book_.needed_from(rank); }
  /// The ranks that have not claimed `name`; none if it is agreed, or nobody has claimed it.
  std::vector<Rank> missing(const std::string& name) const { return book_.missing(name); }

 private:
  bool enter(Rank rank, std::vector<ClaimDigest> claims);
  void open_dispute(const Dispute& dispute);
  void take_facts(Rank rank, Claim claim);
  void settle_dispute();
  void settle_without_facts();

  Events events_;
  ClaimBook book_;
  OwnClaims own_;
  std::optional<Dispute> dispute_;
  std::map<Rank, Facts> told_;                              ///< about the dispute
  Clock::time_point facts_due_ = Clock::time_point::max();  ///< of the ranks that were asked
  bool closed_ = false;
};

}  // namespace casync::runtime
