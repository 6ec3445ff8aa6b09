// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "runtime/control/group/pulse.h"
#include "runtime/control/wire/connection.h"
#include "runtime/control/wire/identity.h"
#include "runtime/control/wire/poll_set.h"

namespace casync::runtime {

/// The children of a rank, at rank 0 and at each relay: their connections, their processes where those are on this
/// machine, and the ways to the ranks below them. All on the group's thread.
class Seats {
 public:
  struct Events {
    /// A child said this. An error ends its connection.
    std::function<Status(Rank child, const Frame& frame)> frame;
    /// A child is gone that had not left. It still has its seat.
    std::function<void(const Identity& who, const Status& why)> lost;
    /// A child that had not left was quiet for so long. Once.
    std::function<void(const Identity& who, Clock::duration quiet)> silent;
  };
  Seats(const Identity& self, const Pulse& pulse, Events events)
      : self_(self), pulse_(pulse), events_(std::move(events)) {}

  /// Comes first. `set` outlives the seats.
  void attach(PollSet& set) { set_ = &set; }
  void admit(const Identity& who, Connection connection);
  /// The ranks that have a seat.
  std::vector<Rank> taken() const;
  /// Null: nobody sits there.
  const Identity* find(Rank child) const;
  /// The child said goodbye: its end and its silence are none of our business.
  void leave(Rank child);
  /// Ends the connection of each child once what waits for it has left. Nothing more is sent to it.
  void let_go();
  bool empty() const { return seats_.empty(); }
  /// Tells all children that nothing more comes: each closes its end when it has read everything, and is not lost then.
  void hang_up();

  /// Sends beats, and looks for silence if `judges`. Returns when it has to be called again at the latest.
  Clock::time_point tend(Clock::time_point now, bool judges);
  void forgive(Clock::duration stalled);
  bool has_output() const;
  Bytes bytes_moved() const;

  /// `rank` is reached through `child`.
  void learn_way(Rank rank, Rank child) { via_[rank] = child; }
  void send_to_all(FrameType type, const PayloadRef& payload);
  /// Sends to a child, or through one to a rank below it. Nothing happens where no way is known.
  void send_to(Rank rank, FrameType type, std::string_view payload);

 private:
  struct Seat {
    Identity who;
    Connection connection;
    Fd process;
    bool left = false;
    bool ends = false;         // with its output
    Watch process_watch = {};  // last: it ends ahead of the descriptor

    // The time from which on it has been silent too long.
    Clock::time_point silent_at(const Pulse& pulse) const;
  };
  void send_beats(Clock::time_point now);
  void look_for_silence(Clock::time_point now);
  void read_from(Rank child);
  void process_ended(Rank child);
  void lose(Rank child, const Status& why);
  void end_if_sent(Rank child);

  Identity self_;
  Pulse pulse_;
  Events events_;
  PollSet* set_ = nullptr;
  std::map<Rank, Seat> seats_;
  std::map<Rank, Rank> via_;
  Clock::time_point beat_at_{};                             // of the next beat to all
  Clock::time_point silent_at_ = Clock::time_point::max();  // nobody has been silent too long until then
};

}  // namespace casync::runtime
