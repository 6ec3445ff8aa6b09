// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "runtime/control/group/claim_book.h"
#include "runtime/control/group/leavers.h"
#include "runtime/control/group/messages.h"
#include "runtime/control/group/own_claims.h"
#include "runtime/control/group/pulse.h"
#include "runtime/control/group/role.h"
#include "runtime/control/group/seats.h"
#include "runtime/control/group/tree.h"
#include "runtime/control/wire/door.h"

namespace casync::runtime {

/// Rank 0: everyone is connected to it, and what it sees first is the truth for all.
class Hub final : public Role {
 public:
  struct Options {
    Identity self;
    Pulse pulse;
    std::uint64_t epoch = 0;
    Clock::time_point join_deadline;
  };
  /// `door` is absent in a job of one rank. `events` outlives the hub.
  Hub(Options options, std::optional<Door> door, RoleEvents& events);

  void attach(PollSet& set) override;
  Clock::time_point tend(Clock::time_point now) override;
  void forgive(Clock::duration stalled) override { seats_.forgive(stalled); }
  void gather(GatherCall call) override { enter(0, std::move(call)); }
  void claim(std::vector<Claim> claims) override;
  void need(const std::vector<std::string>& names, std::uint32_t step) override;
  void lack(const std::string& name) override { refuse_claim(0, name); }
  void give_up(const std::string& name) override;
  void abort(const Status& cause) override { fail({-1, cause}); }
  void say_goodbye(const std::string& last_words) override;
  bool has_output() const override { return !leavers_.empty() || seats_.has_output(); }
  void hang_up() override { seats_.hang_up(); }
  bool has_children() const override { return !seats_.empty(); }
  Bytes bytes_moved() const override { return seats_.bytes_moved(); }

 private:
  // Joining.
  Verdict judge(const Hello& hello);
  Status check_newcomer(const Identity& who) const;
  void admit(const Identity& who, Connection connection);
  void take_in(const Identity& who);
  Verdict place(const Identity& who);
  void complete();
  std::vector<Rank> missing_ranks() const;
  Clock::time_point remind(Clock::time_point now);
  void give_up_joining();
  Clock::time_point farewell(Clock::time_point now);

  // Running.
  Seats::Events seat_events();
  Status handle_from(Rank child, const Frame& frame);
  Status handle(Rank rank, FrameType type, const std::string& bytes);
  void enter(Rank rank, GatherCall call);
  void deliver(const GatherAnswer& answer);
  void leave(Rank rank, const std::string& last_words);
  void announce_leavers();
  void fail(Abort abort);
  void broadcast(FrameType type, std::string payload);

  // Claims.
  Status handle_claim(Rank rank, FrameType type, const std::string& bytes);
  bool enter_claims(Rank rank, std::vector<ClaimDigest> claims);
  void enter_needs(const Needs& needs);
  void tell_need(Rank rank, const std::string& name, std::uint32_t step);
  void refuse_claim(Rank rank, const std::string& name);
  void open_dispute(const Dispute& dispute);
  void take_facts(Rank rank, Claim claim);
  void settle_dispute();

  Options options_;
  std::optional<Door> door_;
  RoleEvents& events_;
  Seats seats_;
  std::map<Rank, Identity> here_;  // all other ranks that have come
  Tree tree_;
  std::vector<Identity> roster_;  // by rank, once complete
  std::vector<bool> left_;        // by rank
  Leavers leavers_;
  GatherBook book_;
  ClaimBook claims_;
  OwnClaims own_claims_;
  std::optional<Dispute> dispute_;
  std::map<Rank, Facts> told_facts_;  // about the dispute
  std::optional<Abort> over_;
  std::set<Rank> told_;  // who knows why the ranks did not come together
  Clock::time_point report_at_ = Clock::time_point::max();
  Clock::time_point started_;
  Clock::time_point remind_at_;
};

}  // namespace casync::runtime
