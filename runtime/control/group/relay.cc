// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/relay.h"

#include "runtime/control/group/faults.h"

namespace casync::runtime {

Relay::Relay(const Identity& self, Door door, std::uint64_t epoch, const Pulse& pulse, Ways ways)
    : self_(self), door_(std::move(door)), epoch_(epoch), ways_(std::move(ways)), seats_(self, pulse, seat_events()) {}

void Relay::attach(PollSet& set) {
  seats_.attach(set);
  door_.attach(
      set, [this](const Hello& hello) { return judge(hello); },
      [this](const Identity& who, Connection connection) { seats_.admit(who, std::move(connection)); });
}

Seats::Events Relay::seat_events() {
  Seats::Events events;
  events.frame = [this](Rank child, const Frame& frame) { return take(child, frame); };
  events.lost = [this](const Identity& who, const Status& why) {
    if (over_.is_ok()) ways_.lost(died(who, why));
  };
  events.silent = [this](const Identity& who, Clock::duration quiet) { ways_.lost(silent(who, quiet)); };
  return events;
}

/// Rank 0 has compared versions and looked for a second process of this rank.
Verdict Relay::judge(const Hello& hello) const {
  if (!over_.is_ok()) return {Verdict::Kind::kRefused, 0, over_};
  if (seats_.find(hello.who.rank) != nullptr) {
    return {Verdict::Kind::kTryAgain, 0, aborted(hello.who.text() + " is here already")};
  }
  return {Verdict::Kind::kWelcome, epoch_, {}};
}

Clock::time_point Relay::tend(Clock::time_point now) {
  return std::min(door_.tend(now), seats_.tend(now, over_.is_ok()));
}

/// An error is the child's: rank 0 would take it for this rank's.
Status Relay::take(Rank child, const Frame& frame) {
  if (frame.type == FrameType::kBeat) return Status::ok();
  if (frame.type == FrameType::kDown) return data_loss("a control frame that only parents send");
  if (frame.type == FrameType::kGoodbye) seats_.leave(child);
  if (frame.type != FrameType::kUp) {
    ways_.up(child, frame.type, frame.payload);
    return Status::ok();
  }
  const auto passed = decode_passed(frame.payload->bytes, self_.ranks);
  if (!passed) return passed.status();
  seats_.learn_way(passed->rank, child);
  ways_.pass_up(frame.payload);
  return Status::ok();
}

}  // namespace casync::runtime
