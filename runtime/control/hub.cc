// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/hub.h"

#include <algorithm>

#include "runtime/control/faults.h"
#include "runtime/control/process_watch.h"

namespace casync::runtime {
namespace {

/// Time for which a job that failed while joining waits for ranks that do not know of it yet. A job that failed by
/// its time limit does not wait.
constexpr Seconds kFarewellTime{2};

Bytes size_of(const std::vector<BlobRef>& blobs) {
  Bytes sum = 0;
  for (const BlobRef& blob : blobs) sum += blob->size() + 4;
  return sum;
}

}  // namespace

Hub::Hub(Options options, std::optional<Door> door, RoleEvents& events)
    : options_(std::move(options)),
      door_(std::move(door)),
      events_(events),
      tree_(options_.self),
      left_(static_cast<std::size_t>(options_.self.ranks), false),
      book_(options_.self.ranks),
      claims_(options_.self.ranks),
      started_(Clock::now()) {}

void Hub::watch(PollSet& set) {
  if (door_) {
    door_->watch(
        set, [this](const Hello& hello) { return judge(hello); },
        [this](const Identity& who, Connection connection) { admit(who, std::move(connection)); });
  }
  for (auto& [rank, seat] : seats_) {
    set.add(seat.connection.fd(), seat.connection.has_output(), [this, rank = rank] { read_from(rank); });
    if (seat.process) set.add(seat.process.get(), false, [this, rank = rank] { process_ended(rank); });
  }
}

Clock::time_point Hub::tend(Clock::time_point now) {
  Clock::time_point next = Clock::time_point::max();
  if (roster_.empty() && !over_) {
    if (options_.self.ranks == 1) complete();
    if (roster_.empty() && now >= options_.join_deadline) give_up_joining();
    if (roster_.empty() && !over_) next = options_.join_deadline;
  }
  next = std::min(next, farewell(now));
  if (door_) next = std::min(next, door_->tend(now));
  const auto dead = std::chrono::duration_cast<Clock::duration>(options_.pulse.dead);
  for (auto& [rank, seat] : seats_) {
    next = std::min(next, seat.connection.keep_alive(now, options_.pulse.beat));
    if (seat.left || over_) continue;
    const Clock::time_point silent_at = seat.connection.last_heard() + dead;
    if (now >= silent_at) {
      fail(silent(seat.who, now - seat.connection.last_heard()));
    } else {
      next = std::min(next, silent_at);
    }
  }
  for (const GatherAnswer& answer : book_.expire(now)) deliver(answer);
  return std::min(next, book_.next_deadline());
}

void Hub::forgive(Clock::duration stalled) {
  for (auto& [rank, seat] : seats_) seat.connection.forgive(stalled);
}

void Hub::read_from(Rank rank) {
  const auto seat = seats_.find(rank);
  if (seat == seats_.end()) return;
  std::vector<Frame> frames;
  Status status = seat->second.connection.read(&frames);
  seat->second.connection.write();
  for (const Frame& frame : frames) {
    const Status handled = handle_from(rank, frame);
    if (!handled) {
      status = handled;
      break;
    }
  }
  if (!status) lose(rank, status);
}

void Hub::process_ended(Rank rank) {
  read_from(rank);  // its last words may still be in the socket
  if (seats_.count(rank) != 0) lose(rank, peer_failure("its process ended"));
}

Status Hub::handle_from(Rank child, const Frame& frame) {
  if (frame.type != FrameType::kUp) return handle(child, frame.type, frame.payload->bytes);
  const auto passed = decode_passed(frame.payload->bytes, options_.self.ranks);
  if (!passed) return passed.status();
  via_[passed->rank] = child;
  return handle(passed->rank, passed->type, std::string(passed->bytes));
}

Status Hub::handle(Rank rank, FrameType type, const std::string& bytes) {
  switch (type) {
    case FrameType::kBeat: return Status::ok();
    case FrameType::kAbort: {
      auto abort = decode_abort(bytes);
      if (!abort) return abort.status();
      fail(*abort);
      return Status::ok();
    }
    case FrameType::kGather: {
      if (roster_.empty() || book_.is_waiting(rank)) return data_loss("a collective call out of turn");
      auto call = decode_gather(bytes, Clock::now());
      if (!call) return call.status();
      enter(rank, std::move(*call));
      return Status::ok();
    }
    case FrameType::kGoodbye: {
      auto goodbye = decode_goodbye(bytes, options_.self.ranks);
      if (!goodbye) return goodbye.status();
      leave(rank, goodbye->last_words);
      return Status::ok();
    }
    case FrameType::kClaim:
    case FrameType::kTold:
    case FrameType::kNeeds:
    case FrameType::kLacks:
    case FrameType::kGiveUp: return handle_claim(rank, type, bytes);
    case FrameType::kHere: {
      auto here = decode_here(bytes);
      if (!here) return here.status();
      if (here->who.rank != rank) return data_loss("an introduction of another rank");
      tree_.listens(here->who, std::move(here->addresses));
      take_in(here->who);
      return Status::ok();
    }
    default: return data_loss("a control frame that only rank 0 sends");
  }
}

void Hub::enter(Rank rank, GatherCall call) {
  if (over_) return;
  const auto gone = std::find(left_.begin(), left_.end(), true);
  if (gone != left_.end()) return fail(left_early(roster_[static_cast<std::size_t>(gone - left_.begin())], call.what));
  if (auto answer = book_.call(rank, std::move(call))) deliver(*answer);
}

void Hub::deliver(const GatherAnswer& answer) {
  const bool mine = std::find(answer.to.begin(), answer.to.end(), 0) != answer.to.end();
  if (!answer.blobs) {
    for (const Rank to : answer.to) {
      if (to != 0) send_to(to, FrameType::kRefused, encode_abort({-1, answer.blobs.status()}));
    }
  } else if (size_of(*answer.blobs) <= kMostTogether) {
    broadcast(FrameType::kAllGathered, encode_all_gathered(*answer.blobs));  // made once, hashed once
  } else {
    Rank from = 0;
    for (const BlobRef& blob : *answer.blobs) broadcast(FrameType::kGathered, encode_gathered(from++, *blob));
  }
  if (mine) events_.gathered(answer.blobs);
}

void Hub::say_goodbye(const std::string& last_words) {
  if (door_) door_->close();
  leave(0, last_words);
}

void Hub::leave(Rank rank, const std::string& last_words) {
  if (over_ || left_[static_cast<std::size_t>(rank)]) return;
  left_[static_cast<std::size_t>(rank)] = true;
  if (const auto seat = seats_.find(rank); seat != seats_.end()) seat->second.left = true;
  broadcast(FrameType::kGoodbye, encode_goodbye({rank, last_words}));
  events_.left(rank, last_words);
  std::string waiting = book_.waiting_for();
  if (waiting.empty()) waiting = claims_.needed_from(rank);
  if (!waiting.empty()) fail(left_early(roster_[static_cast<std::size_t>(rank)], waiting));
}

void Hub::lose(Rank rank, const Status& reason) {
  const auto seat = seats_.find(rank);
  const bool left = seat->second.left;
  const Identity who = seat->second.who;
  // It hears of it too where only one direction is broken.
  if (!left) fail(died(who, reason));
  seats_.erase(rank);
}

void Hub::fail(Abort abort) {
  if (over_) return;
  over_ = std::move(abort);
  broadcast(FrameType::kAbort, encode_abort(*over_));
  for (const auto& [rank, seat] : seats_) told_.insert(rank);
  for (const auto& [rank, who] : here_) told_.insert(rank);
  const bool joining = roster_.empty() && over_->cause.code() != StatusCode::kTimeout;
  report_at_ = joining ? after(kFarewellTime) : Clock::now();
  farewell(Clock::now());
}

void Hub::broadcast(FrameType type, std::string payload) {
  const PayloadRef shared = make_payload(std::move(payload));
  for (auto& [rank, seat] : seats_) seat.connection.send(type, shared);
}

void Hub::send_to(Rank rank, FrameType type, std::string payload) {
  const auto direct = seats_.find(rank);
  if (direct != seats_.end()) return direct->second.connection.send(type, std::move(payload));
  const auto via = via_.find(rank);
  const auto seat = via == via_.end() ? seats_.end() : seats_.find(via->second);
  if (seat != seats_.end()) seat->second.connection.send(FrameType::kDown, encode_passed({rank, type, payload}));
}

Bytes Hub::bytes_moved() const {
  Bytes sum = 0;
  for (const auto& [rank, seat] : seats_) sum += seat.connection.bytes_moved();
  return sum;
}

bool Hub::has_output() const {
  return std::any_of(seats_.begin(), seats_.end(),
                     [](const auto& seat) { return seat.second.connection.has_output(); });
}

}  // namespace casync::runtime
