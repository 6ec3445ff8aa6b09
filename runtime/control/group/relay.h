// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "runtime/control/group/messages.h"
#include "runtime/control/group/role.h"
#include "runtime/control/group/seats.h"
#include "runtime/control/wire/door.h"

namespace casync::runtime {

/// The children of a member in a large job: lets them in, passes what they say to the parent, and what rank 0 says to
/// them, and watches that they live. All on the group's thread.
class Relay {
 public:
  struct Ways {
    /// Sends to the parent, in the name of rank `from`.
    std::function<void(Rank from, FrameType type, PayloadRef payload)> up;
    /// Sends to the parent a frame that a child passed on, unchanged.
    std::function<void(PayloadRef payload)> pass_up;
    /// A child has failed.
    std::function<void(const Abort& abort)> lost;
  };
  Relay(const Identity& self, Door door, std::uint64_t epoch, const Pulse& pulse, Ways ways);

  /// The addresses at which children reach this rank.
  std::vector<std::string> addresses() const { return door_.addresses(); }
  void attach(PollSet& set);
  Clock::time_point tend(Clock::time_point now);
  void forgive(Clock::duration stalled) { seats_.forgive(stalled); }
  bool has_output() const { return seats_.has_output(); }
  bool has_children() const { return !seats_.empty(); }
  void hang_up() { seats_.hang_up(); }

  /// Sends to all children, and through them to all ranks below.
  void down(FrameType type, const PayloadRef& payload) { seats_.send_to_all(type, payload); }
  /// Sends to one rank below.
  void down_to(const Passed& passed) { seats_.send_to(passed.rank, passed.type, passed.bytes); }
  /// All ranks are here: nobody comes in any more.
  void close_door() { door_.close(); }
  /// The job is over, and this is what callers are told.
  void refuse(const Status& cause) { over_ = cause; }
  /// A rank on the way to rank 0 has left, and with it everybody.
  void drop_children() { seats_.let_go(); }

 private:
  Verdict judge(const Hello& hello) const;
  Seats::Events seat_events();
  Status take(Rank child, const Frame& frame);

  Identity self_;
  Door door_;
  std::uint64_t epoch_;
  Ways ways_;
  Seats seats_;
  Status over_;
};

}  // namespace casync::runtime
