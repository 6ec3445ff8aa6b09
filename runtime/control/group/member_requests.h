// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "runtime/control/group/call_answer.h"
#include "runtime/control/group/messages.h"
#include "runtime/control/group/own_claims.h"
#include "runtime/control/group/role.h"
#include "runtime/control/wire/frame.h"

namespace casync::runtime {

/// The requests of a member: its collective call, its claims, and the names that it waits for. Rank 0 answers them. All
/// on the group's thread.
class MemberRequests {
 public:
  /// Sends to rank 0; nothing happens once that is impossible.
  using Send = std::function<void(FrameType type, std::string payload)>;
  /// `events` outlives the requests.
  MemberRequests(const Identity& self, RoleEvents& events, Send send)
      : self_(self.rank), ranks_(self.ranks), events_(events), send_(std::move(send)), answer_(self.rank, self.ranks) {}

  void gather(const GatherCall& call);
  void claim(std::vector<Claim> claims);
  void need(const std::vector<std::string>& names, std::uint32_t step);
  void lack(const std::string& name);
  void give_up(const std::string& name);
  void ask_who_is_late(const std::string& name);

  /// A frame of rank 0: kGathered, kAllGathered, kRefused, kAgreed, kAsk, kNeeded or kLate. DataLoss: it is none of
  /// these, has not its form, or answers what was not asked.
  Status handle(FrameType type, const std::string& bytes);
  /// `hub` has left: a collective call has no answer any more.
  void drop(const Identity& hub);

 private:
  Status handle_gathered(const std::string& bytes);
  Status handle_all_gathered(const std::string& bytes);
  Status handle_refused(const std::string& bytes);
  Status handle_agreed(const std::string& bytes);
  Status handle_ask(const std::string& bytes);
  Status handle_needed(const std::string& bytes);
  Status handle_late(const std::string& bytes) const;

  const Rank self_;
  const int ranks_;
  RoleEvents& events_;
  Send send_;
  CallAnswer answer_;
  OwnClaims claims_;
};

}  // namespace casync::runtime
