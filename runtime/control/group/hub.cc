// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/hub.h"

#include <algorithm>
#include <utility>

#include "runtime/control/group/faults.h"

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

Hub::Hub(const Options& options, std::optional<Door> door, RoleEvents& events)
    : ranks_(options.self.ranks),
      door_(std::move(door)),
      events_(events),
      seats_(options.self, options.pulse, seat_events()),
      assembly_(options.self, options.epoch, Clock::now(), options.join_deadline),
      left_(static_cast<std::size_t>(ranks_), false),
      leavers_(ranks_),
      gathers_(ranks_),
      claims_(ranks_, claim_events()),
      ending_(ranks_) {}

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

ClaimDesk::Events Hub::claim_events() {
  return {.agreed =
              [this](const Agreement& agreement) {
                broadcast(FrameType::kAgreed, encode_agreement(agreement));
                events_.agreed(agreement);
              },
          .missed =
              [this](Rank by, const std::string& name, std::uint32_t step) {
                if (left_[static_cast<std::size_t>(by)]) return fail(left_early(assembly_.of(by), name));
                if (step == kNoStep) return;
                if (by == 0) return events_.needed(name, step);
                seats_.send_to(by, FrameType::kNeeded, encode_needs({step, {name}}));
              },
          .asked = [this](Rank of, const std::string& name) { seats_.send_to(of, FrameType::kAsk, encode_name(name)); },
          .failed =
              [this](const Status& cause) {
                fail({-1, cause});
              }};
}

Verdict Hub::judge(const Hello& hello) {
  const bool complete = assembly_.is_complete();
  // A job that failed while it came together tells everyone the same; one that ran is the wrong one to ask, and
  // the caller looks for the address of its own.
  if (ending_.has_begun() && !complete) {
    ending_.told(hello.who.rank);
    return {Verdict::Kind::kRefused, 0, ending_.abort().cause};
  }
  if (ending_.has_begun()) return {Verdict::Kind::kTryAgain, 0, aborted("the job that listens here is over")};
  Status refusal = assembly_.check(hello.who, seats_.find(hello.who.rank));
  // All were here once: nobody comes in any more, not even to the place of one that has left.
  if (complete && refusal) refusal = aborted("the job that listens here has begun without " + hello.who.text());
  if (complete) return {Verdict::Kind::kTryAgain, 0, refusal};
  if (refusal) return assembly_.place(hello, Clock::now());
  ending_.told(hello.who.rank);
  fail({-1, refusal});
  return {Verdict::Kind::kRefused, 0, refusal};
}

void Hub::admit(const Identity& who, Connection connection) {
  seats_.admit(who, std::move(connection));
  if (ranks_ <= kStarRanks) take_in(who);
}

void Hub::take_in(const Identity& who) {
  if (assembly_.is_complete() || ending_.has_begun()) return;
  if (const Status refusal = assembly_.take_in(who); !refusal) return fail({-1, refusal});
  if (assembly_.has_all()) complete();
}

void Hub::complete() {
  assembly_.complete();
  broadcast(FrameType::kReady, encode_roster(assembly_.roster()));
  events_.joined(assembly_.roster());
}

Clock::time_point Hub::tend_joining(Clock::time_point now) {
  if (assembly_.is_complete() || ending_.has_begun()) return Clock::time_point::max();
  if (ranks_ == 1) {
    complete();
  } else if (now >= assembly_.deadline()) {
    fail({-1, assembly_.gave_up(Clock::now(), door_->refused_summary())});
  } else {
    return std::min(assembly_.deadline(), assembly_.remind(now));
  }
  return Clock::time_point::max();
}

Clock::time_point Hub::tend(Clock::time_point now) {
  Clock::time_point next = tend_joining(now);
  next = std::min(next, report_end(now));
  if (door_) next = std::min(next, door_->tend(now));
  if (now >= leavers_.due()) announce_leavers();
  next = std::min({next, leavers_.due(), seats_.tend(now, !ending_.has_begun())});
  for (const GatherAnswer& answer : gathers_.expire(now)) deliver(answer);
  return std::min(next, gathers_.next_deadline());
}

Status Hub::handle_from(Rank child, const Frame& frame) {
  if (frame.type != FrameType::kUp) return handle(child, frame.type, frame.payload->bytes);
  const auto passed = decode_passed(frame.payload->bytes, ranks_);
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
      if (!assembly_.is_complete() || gathers_.is_waiting(rank)) return data_loss("a collective call out of turn");
      auto call = decode_gather(bytes, Clock::now());
      if (!call) return call.status();
      enter(rank, std::move(*call));
      return Status::ok();
    }
    case FrameType::kGoodbye: {
      auto goodbye = decode_goodbye(bytes, ranks_);
      if (!goodbye) return goodbye.status();
      leave(rank, {goodbye->last_words, std::exchange(hub_words_[rank], {})});
      return Status::ok();
    }
    case FrameType::kHubWords: hub_words_[rank] = bytes; return Status::ok();
    case FrameType::kClaim:
    case FrameType::kTold:
    case FrameType::kNeeds:
    case FrameType::kLacks:
    case FrameType::kGiveUp:
      return assembly_.is_complete() ? claims_.handle(rank, type, bytes) : data_loss("a claim out of turn");
    case FrameType::kHere: {
      auto here = decode_here(bytes);
      if (!here) return here.status();
      if (here->who.rank != rank) return data_loss("an introduction of another rank");
      assembly_.listens(*here);
      take_in(here->who);
      return Status::ok();
    }
    default: return data_loss("a control frame that only rank 0 sends");
  }
}

void Hub::enter(Rank rank, GatherCall call) {
  if (ending_.has_begun()) return;
  const auto gone = std::find(left_.begin(), left_.end(), true);
  if (gone != left_.end()) return fail(left_early(assembly_.of(static_cast<Rank>(gone - left_.begin())), call.what));
  if (auto answer = gathers_.call(rank, std::move(call))) deliver(*answer);
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

void Hub::say_goodbye(const LastWords& words) {
  if (door_) door_->close();
  leave(0, words);
}

void Hub::leave(Rank rank, const LastWords& words) {
  if (ending_.has_begun() || left_[static_cast<std::size_t>(rank)]) return;
  left_[static_cast<std::size_t>(rank)] = true;
  seats_.leave(rank);
  leavers_.add(rank, words.to_all);
  if (Clock::now() >= leavers_.due()) announce_leavers();
  events_.left(rank, words);
  std::string waiting = gathers_.waiting_for();
  if (waiting.empty()) waiting = claims_.needed_from(rank);
  if (!waiting.empty()) fail(left_early(assembly_.of(rank), waiting));
}

void Hub::announce_leavers() {
  for (const Goodbye& goodbye : leavers_.take(Clock::now())) broadcast(FrameType::kGoodbye, encode_goodbye(goodbye));
}

void Hub::fail(Abort abort) {
  if (ending_.has_begun()) return;
  announce_leavers();
  claims_.close();
  const bool waits = !assembly_.is_complete() && abort.cause.code() != StatusCode::kTimeout;
  ending_.begin(std::move(abort), waits ? after(kFarewellTime) : Clock::now());
  broadcast(FrameType::kAbort, encode_abort(ending_.abort()));
  for (const Rank rank : seats_.taken()) ending_.told(rank);
  for (const auto& [rank, who] : assembly_.here()) ending_.told(rank);
  report_end(Clock::now());
}

/// Reports the end to the group, which then closes the door. Returns when it has to be called again at the latest.
Clock::time_point Hub::report_end(Clock::time_point now) {
  if (ending_.is_due(now)) {
    ending_.reported();
    events_.failed(cause_for(0, ending_.abort()));
  }
  return ending_.report_at();
}

void Hub::broadcast(FrameType type, std::string payload) { seats_.send_to_all(type, make_payload(std::move(payload))); }

}  // namespace casync::runtime
