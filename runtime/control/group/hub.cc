// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/hub.h"

#include <algorithm>

#include "runtime/control/group/faults.h"
#include "runtime/control/wire/reminder.h"

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
      seats_(options_.self, options_.pulse, seat_events()),
      tree_(options_.self),
      left_(static_cast<std::size_t>(options_.self.ranks), false),
      leavers_(options_.self.ranks),
      book_(options_.self.ranks),
      claims_(options_.self.ranks),
      started_(Clock::now()),
      remind_at_(started_ + kFirstReminder) {}

void Hub::attach(PollSet& set) {
  seats_.attach(set);
  if (!door_) return;
  door_->attach(
      set, [this](const Hello& hello) { return judge(hello); },
      [this](const Identity& who, Connection connection) { admit(who, std::move(connection)); });
}

/// A child that is gone hears why, too: only one direction may be broken.
Seats::Events Hub::seat_events() {
  return {[this](Rank child, const Frame& frame) { return handle_from(child, frame); },
          [this](const Identity& who, const Status& why) { fail(died(who, why)); },
          [this](const Identity& who, Clock::duration quiet) { fail(silent(who, quiet)); }};
}

Clock::time_point Hub::tend(Clock::time_point now) {
  Clock::time_point next = Clock::time_point::max();
  if (roster_.empty() && !over_) {
    if (options_.self.ranks == 1) complete();
    if (roster_.empty() && now >= options_.join_deadline) give_up_joining();
    if (roster_.empty() && !over_) next = std::min(options_.join_deadline, remind(now));
  }
  next = std::min(next, farewell(now));
  if (door_) next = std::min(next, door_->tend(now));
  if (now >= leavers_.due()) announce_leavers();
  next = std::min({next, leavers_.due(), seats_.tend(now, !over_)});
  for (const GatherAnswer& answer : book_.expire(now)) deliver(answer);
  return std::min(next, book_.next_deadline());
}

Status Hub::handle_from(Rank child, const Frame& frame) {
  if (frame.type != FrameType::kUp) return handle(child, frame.type, frame.payload->bytes);
  const auto passed = decode_passed(frame.payload->bytes, options_.self.ranks);
  if (!passed) return passed.status();
  seats_.learn_way(passed->rank, child);
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
      if (to != 0) seats_.send_to(to, FrameType::kRefused, encode_abort({-1, answer.blobs.status()}));
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
  seats_.leave(rank);
  leavers_.add(rank, last_words);
  if (Clock::now() >= leavers_.due()) announce_leavers();
  events_.left(rank, last_words);
  std::string waiting = book_.waiting_for();
  if (waiting.empty()) waiting = claims_.needed_from(rank);
  if (!waiting.empty()) fail(left_early(roster_[static_cast<std::size_t>(rank)], waiting));
}

void Hub::announce_leavers() {
  for (const Goodbye& goodbye : leavers_.take(Clock::now())) broadcast(FrameType::kGoodbye, encode_goodbye(goodbye));
}

void Hub::fail(Abort abort) {
  if (over_) return;
  announce_leavers();
  over_ = std::move(abort);
  broadcast(FrameType::kAbort, encode_abort(*over_));
  for (const Rank rank : seats_.taken()) told_.insert(rank);
  for (const auto& [rank, who] : here_) told_.insert(rank);
  const bool joining = roster_.empty() && over_->cause.code() != StatusCode::kTimeout;
  report_at_ = joining ? after(kFarewellTime) : Clock::now();
  farewell(Clock::now());
}

void Hub::broadcast(FrameType type, std::string payload) { seats_.send_to_all(type, make_payload(std::move(payload))); }

}  // namespace casync::runtime
