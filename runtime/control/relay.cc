// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/relay.h"

#include <algorithm>

#include "runtime/control/faults.h"
#include "runtime/control/process_watch.h"

namespace casync::runtime {

Relay::Relay(const Identity& self, Door door, std::uint64_t epoch, Seconds beat, Seconds dead, Ways ways)
    : self_(self), door_(std::move(door)), epoch_(epoch), beat_(beat), dead_(dead), ways_(std::move(ways)) {}

void Relay::watch(PollSet& set) {
  door_.watch(
      set, [this](const Hello& hello) { return judge(hello); },
      [this](const Identity& who, Connection connection) { admit(who, std::move(connection)); });
  for (auto& [rank, seat] : seats_) {
    set.add(seat.connection.fd(), seat.connection.has_output(), [this, rank = rank] { read_from(rank); });
    if (seat.process) set.add(seat.process.get(), false, [this, rank = rank] { process_ended(rank); });
  }
}

/// Rank 0 has compared versions and looked for a second process of this rank.
Verdict Relay::judge(const Hello& hello) const {
  if (!over_.is_ok()) return {Verdict::Kind::kRefused, 0, over_};
  if (seats_.count(hello.who.rank) != 0) {
    return {Verdict::Kind::kTryAgain, 0, aborted(hello.who.text() + " is here already")};
  }
  return {Verdict::Kind::kWelcome, epoch_, {}};
}

void Relay::admit(const Identity& who, Connection connection) {
  seats_.emplace(who.rank, Seat{who, std::move(connection), watch_process(who, self_)});
}

Clock::time_point Relay::tend(Clock::time_point now) {
  Clock::time_point next = door_.tend(now);
  const auto dead = std::chrono::duration_cast<Clock::duration>(dead_);
  for (auto& [rank, seat] : seats_) {
    next = std::min(next, seat.connection.keep_alive(now, beat_));
    if (seat.left || !over_.is_ok()) continue;
    const Clock::time_point silent_at = seat.connection.last_heard() + dead;
    if (now >= silent_at) {
      seat.left = true;  // reported once
      ways_.lost(silent(seat.who, now - seat.connection.last_heard()));
    } else {
      next = std::min(next, silent_at);
    }
  }
  return next;
}

void Relay::forgive(Clock::duration stalled) {
  for (auto& [rank, seat] : seats_) seat.connection.forgive(stalled);
}

bool Relay::has_output() const {
  return std::any_of(seats_.begin(), seats_.end(),
                     [](const auto& seat) { return seat.second.connection.has_output(); });
}

void Relay::read_from(Rank rank) {
  const auto seat = seats_.find(rank);
  if (seat == seats_.end()) return;
  std::vector<Frame> frames;
  const Status status = seat->second.connection.read(&frames);
  seat->second.connection.write();
  for (const Frame& frame : frames) take(seat->second, frame);
  if (!status) lose(rank, status);
}

void Relay::take(Seat& seat, const Frame& frame) {
  if (frame.type == FrameType::kBeat) return;
  if (frame.type == FrameType::kGoodbye) seat.left = true;
  if (frame.type != FrameType::kUp) return ways_.up(seat.who.rank, frame.type, frame.payload);
  if (const auto passed = decode_passed(frame.payload->bytes, self_.ranks)) via_[passed->rank] = seat.who.rank;
  ways_.pass_up(frame.payload);
}

void Relay::process_ended(Rank rank) {
  read_from(rank);  // its last words may still be in the socket
  if (seats_.count(rank) != 0) lose(rank, peer_failure("its process ended"));
}

void Relay::lose(Rank rank, const Status& reason) {
  const auto seat = seats_.find(rank);
  const bool expected = seat->second.left || !over_.is_ok();
  const Identity who = seat->second.who;
  seats_.erase(seat);
  if (!expected) ways_.lost(died(who, reason));
}

void Relay::down(FrameType type, const PayloadRef& payload) {
  for (auto& [rank, seat] : seats_) seat.connection.send(type, payload);
}

void Relay::down_to(const Passed& passed, const PayloadRef& payload) {
  const auto direct = seats_.find(passed.rank);
  if (direct != seats_.end()) return direct->second.connection.send(passed.type, std::string(passed.bytes));
  const auto via = via_.find(passed.rank);
  const auto seat = via == via_.end() ? seats_.end() : seats_.find(via->second);
  if (seat != seats_.end()) seat->second.connection.send(FrameType::kDown, payload);
}

}  // namespace casync::runtime
