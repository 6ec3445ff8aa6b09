// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/control/group/call_desk.h"
#include "runtime/control/group/claim_desk.h"
#include "runtime/control/group/ending.h"
#include "runtime/control/group/goodbyes.h"
#include "runtime/control/group/messages.h"
#include "runtime/control/group/pulse.h"
#include "runtime/control/group/rank_arrivals.h"
#include "runtime/control/group/role.h"
#include "runtime/control/group/seats.h"
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
  Hub(const Options& options, std::optional<Door> door, RoleEvents& events);

  void attach(PollSet& set) override;
  Clock::time_point tend(Clock::time_point now) override;
  void forgive(Clock::duration stalled) override { seats_.forgive(stalled); }
  void gather(GatherCall call) override { enter(0, std::move(call)); }
  void claim(std::vector<Claim> claims) override { claims_.claim(std::move(claims)); }
  void need(const std::vector<std::string>& names, std::uint32_t step) override { claims_.need({step, names}); }
  void lack(const std::string& name) override { claims_.lack(0, name); }
  void give_up(const std::string& name) override { claims_.give_up(name); }
  void ask_who_is_late(const std::string& name) override { tell_who_is_late(0, name); }
  void abort(const Status& cause) override { fail({-1, cause}); }
  void say_goodbye(const LastWords& words) override;
  bool has_output() const override { return !goodbyes_.all_announced() || seats_.has_output(); }
  void hang_up() override { seats_.hang_up(); }
  bool has_children() const override { return !seats_.empty(); }
  Bytes bytes_moved() const override { return seats_.bytes_moved(); }

 private:
  Seats::Events seat_events();
  RankArrivals::Events arrival_events();
  CallDesk::Events call_events();
  ClaimDesk::Events claim_events();
  Status handle_from(Rank child, const Frame& frame);
  Status handle(Rank rank, FrameType type, const std::string& bytes);
  void enter(Rank rank, GatherCall call);
  void tell_who_is_late(Rank to, const std::string& name);
  void leave(Rank rank, const LastWords& words);
  void fail(Abort abort);
  Clock::time_point report_end(Clock::time_point now);
  void broadcast(FrameType type, std::string payload);

  const int ranks_;
  RoleEvents& events_;
  Ending ending_;
  Seats seats_;
  RankArrivals arrivals_;
  Goodbyes goodbyes_;
  CallDesk calls_;
  ClaimDesk claims_;
};

}  // namespace casync::runtime
