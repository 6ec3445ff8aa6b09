// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string_view>

#include "runtime/control/door.h"
#include "runtime/control/messages.h"
#include "runtime/control/role.h"

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
  Relay(const Identity& self, Door door, std::uint64_t epoch, Seconds beat, Seconds dead, Ways ways);

  /// The addresses at which children reach this rank.
  std::vector<std::string> addresses() const { return door_.addresses(); }
  void watch(PollSet& set);
  Clock::time_point tend(Clock::time_point now);
  void forgive(Clock::duration stalled);
  bool has_output() const;

  /// Sends to all children, and through them to all ranks below.
  void down(FrameType type, const PayloadRef& payload);
  /// Sends to one rank below its frame, as decode_passed gives it.
  void down_to(const Passed& passed, const PayloadRef& payload);
  /// All ranks are here: nobody comes in any more.
  void close_door() { door_.close(); }
  /// The job is over, and this is what callers are told.
  void refuse(const Status& cause) { over_ = cause; }
  /// Rank 0 has left, and with it everybody.
  void drop_children() { seats_.clear(); }

 private:
  struct Seat {
    Identity who;
    Connection connection;
    Fd process;
    bool left = false;
  };
  Verdict judge(const Hello& hello) const;
  void admit(const Identity& who, Connection connection);
  void read_from(Rank rank);
  void process_ended(Rank rank);
  void take(Seat& seat, const Frame& frame);
  void lose(Rank rank, const Status& reason);

  Identity self_;
  Door door_;
  std::uint64_t epoch_;
  Seconds beat_, dead_;
  Ways ways_;
  std::map<Rank, Seat> seats_;
  std::map<Rank, Rank> via_;  ///< the child through which a rank further down is reached
  Status over_;
};

}  // namespace casync::runtime
