// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/seats.h"

#include <algorithm>

#include "runtime/control/group/messages.h"
#include "runtime/control/group/process_watch.h"

namespace casync::runtime {

void Seats::admit(const Identity& who, Connection connection) {
  const Rank child = who.rank;
  Seat& seat = seats_.emplace(child, Seat{who, std::move(connection), watch_process(who, self_)}).first->second;
  silent_at_ = std::min(silent_at_, seat.silent_at(pulse_));
  seat.connection.attach(*set_, [this, child] { read_from(child); });
  if (seat.process) seat.process_watch = set_->watch(seat.process.get(), [this, child] { process_ended(child); });
}

const Identity* Seats::find(Rank child) const {
  const auto seat = seats_.find(child);
  return seat == seats_.end() ? nullptr : &seat->second.who;
}

std::vector<Rank> Seats::taken() const {
  std::vector<Rank> children;
  for (const auto& [child, seat] : seats_) children.push_back(child);
  return children;
}

void Seats::leave(Rank child) {
  if (const auto seat = seats_.find(child); seat != seats_.end()) seat->second.left = true;
}

void Seats::let_go() {
  for (const Rank child : taken()) {
    Seat& seat = seats_.at(child);
    seat.left = seat.ends = true;
    end_if_sent(child);
  }
}

void Seats::end_if_sent(Rank child) {
  const auto seat = seats_.find(child);
  if (seat != seats_.end() && seat->second.ends && !seat->second.connection.has_output()) seats_.erase(seat);
}

/// Tending costs the same for any number of children: only a beat and a limit look at all of them.
Clock::time_point Seats::tend(Clock::time_point now, bool judges) {
  if (seats_.empty()) return Clock::time_point::max();
  if (now >= beat_at_) send_beats(now);
  if (!judges) return beat_at_;
  if (now >= silent_at_) look_for_silence(now);
  return std::min(beat_at_, silent_at_);
}

/// All children hear of this rank in one wake-up.
void Seats::send_beats(Clock::time_point now) {
  static const PayloadRef nothing = make_payload({});
  for (auto& [child, seat] : seats_) {
    // Bytes still waiting to leave are a beat already, or nothing would help.
    if (!seat.connection.has_output()) seat.connection.send(FrameType::kBeat, nothing);
  }
  beat_at_ = now + std::chrono::duration_cast<Clock::duration>(pulse_.beat);
}

/// A child's word may be in its socket already, when this rank has had no time to read: that is no silence.
void Seats::look_for_silence(Clock::time_point now) {
  for (const Rank child : taken()) {
    const auto seat = seats_.find(child);
    if (seat != seats_.end() && !seat->second.left && now >= seat->second.silent_at(pulse_)) read_from(child);
  }
  silent_at_ = Clock::time_point::max();
  std::vector<Rank> silent;
  for (auto& [child, seat] : seats_) {
    if (seat.left) continue;
    if (now < seat.silent_at(pulse_)) {
      silent_at_ = std::min(silent_at_, seat.silent_at(pulse_));
    } else {
      seat.left = true;  // reported once
      silent.push_back(child);
    }
  }
  for (const Rank child : silent) {
    const auto seat = seats_.find(child);
    if (seat != seats_.end()) events_.silent(seat->second.who, now - seat->second.connection.last_heard());
  }
}

Clock::time_point Seats::Seat::silent_at(const Pulse& pulse) const {
  return connection.last_heard() + std::chrono::duration_cast<Clock::duration>(pulse.dead);
}

void Seats::forgive(Clock::duration stalled) {
  for (auto& [child, seat] : seats_) seat.connection.forgive(stalled);
}

bool Seats::has_output() const {
  return std::any_of(seats_.begin(), seats_.end(),
                     [](const auto& seat) { return seat.second.connection.has_output(); });
}

void Seats::hang_up() {
  for (auto& [child, seat] : seats_) {
    seat.left = true;
    seat.connection.hang_up();
  }
}

Bytes Seats::bytes_moved() const {
  Bytes sum = 0;
  for (const auto& [child, seat] : seats_) sum += seat.connection.bytes_moved();
  return sum;
}

void Seats::send_to_all(FrameType type, const PayloadRef& payload) {
  for (auto& [child, seat] : seats_) {
    if (!seat.ends) seat.connection.send(type, payload);
  }
}

void Seats::send_to(Rank rank, FrameType type, std::string_view payload) {
  const auto direct = seats_.find(rank);
  if (direct != seats_.end()) {
    if (!direct->second.ends) direct->second.connection.send(type, std::string(payload));
    return;
  }
  const auto via = via_.find(rank);
  const auto seat = via == via_.end() ? seats_.end() : seats_.find(via->second);
  if (seat != seats_.end() && !seat->second.ends)
    seat->second.connection.send(FrameType::kDown, encode_passed({rank, type, payload}));
}

void Seats::read_from(Rank child) {
  const auto seat = seats_.find(child);
  if (seat == seats_.end()) return;
  std::vector<Frame> frames;
  Status status = seat->second.connection.read(&frames);
  seat->second.connection.write();
  for (const Frame& frame : frames) {
    const Status handled = events_.frame(child, frame);
    if (!handled) {
      status = handled;
      break;
    }
  }
  if (!status) lose(child, status);
  end_if_sent(child);
}

void Seats::process_ended(Rank child) {
  const auto moved = [&] {
    const auto seat = seats_.find(child);
    return seat == seats_.end() ? Bytes{0} : seat->second.connection.bytes_moved();
  };
  // Its last words may still be in the socket, and more than one read takes.
  Bytes before = 0;
  do {
    before = moved();
    read_from(child);
  } while (seats_.count(child) != 0 && moved() != before);
  if (seats_.count(child) != 0) lose(child, peer_failure("its process ended"));
}

void Seats::lose(Rank child, const Status& why) {
  const auto seat = seats_.find(child);
  if (seat == seats_.end()) return;
  if (!seat->second.left) events_.lost(seat->second.who, why);
  seats_.erase(child);
}

}  // namespace casync::runtime
