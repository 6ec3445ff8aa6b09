// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "runtime/control/door.h"
#include "runtime/control/messages.h"
#include "runtime/control/role.h"

namespace casync::runtime {

/// How long a rank may be quiet, and how often it says something.
struct Pulse {
  Seconds beat{0.5};
  Seconds dead{5};
};

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

  void watch(PollSet& set) override;
  Clock::time_point tend(Clock::time_point now) override;
  void forgive(Clock::duration stalled) override;
  void gather(GatherCall call) override { enter(0, std::move(call)); }
  void abort(const Status& cause) override { fail({-1, cause}); }
  void say_goodbye() override;
  bool has_output() const override;

 private:
  struct Seat {
    Identity who;
    Connection connection;
    Fd process;
    bool left = false;
  };

  // Joining.
  Verdict judge(const Hello& hello);
  Status check_newcomer(const Identity& who) const;
  void admit(const Identity& who, Connection connection);
  void complete();
  void give_up_joining();
  Clock::time_point farewell(Clock::time_point now);

  // Running.
  void read_from(Rank rank);
  void process_ended(Rank rank);
  Status handle(Rank rank, const Frame& frame);
  void enter(Rank rank, GatherCall call);
  void deliver(const GatherAnswer& answer);
  void leave(Rank rank);
  void lose(Rank rank, const Status& reason);
  void fail(Abort abort);
  void broadcast(FrameType type, std::string payload);

  Options options_;
  std::optional<Door> door_;
  RoleEvents& events_;
  std::map<Rank, Seat> seats_;
  std::vector<Identity> roster_;  // by rank, once complete
  std::vector<bool> left_;        // by rank
  GatherBook book_;
  std::optional<Abort> over_;
  std::set<Rank> told_;  // who knows why the ranks did not come together
  Clock::time_point report_at_ = Clock::time_point::max();
  Clock::time_point started_;
};

}  // namespace casync::runtime
