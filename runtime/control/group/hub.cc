// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/hub.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "runtime/control/group/faults.h"

namespace casync::runtime {
namespace {

/// Time for which a job that failed while joining waits for ranks that do not know of it yet. A job that failed by
/// its time limit does not wait.
constexpr Seconds kFarewellTime{2};

}  // namespace

Hub::Hub(const Options& options, std::optional<Door> door, RoleEvents& events)
    : ranks_(options.self.ranks),
      events_(events),
      ending_(ranks_),
      seats_(options.self, options.pulse, seat_events()),
      arrivals_(options.self, options.epoch, options.join_deadline, std::move(door), seats_, ending_, arrival_events()),
      goodbyes_(ranks_, [this](const Goodbye& goodbye) { broadcast(FrameType::kGoodbye, encode_goodbye(goodbye)); }),
      calls_(ranks_, call_events()),
      claims_(ranks_, claim_events()) {}

void Hub::attach(PollSet& set) {
  seats_.attach(set);
  arrivals_.attach(set);
}

/// A child that is gone hears why, too: only one direction may be broken.
Seats::Events Hub::seat_events() {
  return {[this](Rank child, const Frame& frame) { return handle_from(child, frame); },
          [this](const Identity& who, const Status& why) { fail(died(who, why)); },
          [this](const Identity& who, Clock::duration quiet) { fail(silent(who, quiet)); }};
}

RankArrivals::Events Hub::arrival_events() {
  return {.complete =
              [this](const std::vector<Identity>& roster) {
                broadcast(FrameType::kReady, encode_roster(roster));
                events_.joined(roster);
              },
          .failed =
              [this](const Status& cause) {
                fail({-1, cause});
              }};
}

CallDesk::Events Hub::call_events() {
  return {.send = [this](Rank to, FrameType type, const std::string& payload) { seats_.send_to(to, type, payload); },
          .broadcast = [this](FrameType type, std::string payload) { broadcast(type, std::move(payload)); },
          .gathered = [this](Result<std::vector<BlobRef>> blobs) { events_.gathered(std::move(blobs)); }};
}

ClaimDesk::Events Hub::claim_events() {
  return {.agreed =
              [this](const Agreement& agreement) {
                broadcast(FrameType::kAgreed, encode_agreement(agreement));
                events_.agreed(agreement);
              },
          .missed =
              [this](Rank by, const std::string& name, std::uint32_t step) {
                if (goodbyes_.has_left(by)) return fail(left_early(arrivals_.of(by), name));
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

Clock::time_point Hub::tend(Clock::time_point now) {
  Clock::time_point next = arrivals_.tend(now);
  next = std::min(next, report_end(now));
  next = std::min(next, arrivals_.tend_door(now));
  goodbyes_.announce_due(now);
  next = std::min(next, claims_.tend(now));
  next = std::min({next, goodbyes_.due(), seats_.tend(now, !ending_.has_begun())});
  return std::min(next, calls_.tend(now));
}

Status Hub::handle_from(Rank child, const Frame& frame) {
  if (frame.type != FrameType::kUp) return handle(child, frame.type, frame.payload->bytes);
  const auto passed = decode_passed(frame.payload->bytes, ranks_);
  if (!passed) return passed.status();
  if (passed->rank == 0) return data_loss("a frame of rank 0 that came from below");
  seats_.learn_way(passed->rank, child);
  const Status handled = handle(passed->rank, passed->type, std::string(passed->bytes));
  const auto sender = arrivals_.here().find(passed->rank);
  if (handled || sender == arrivals_.here().end()) return handled;
  fail(died(sender->second, handled));  // the relay has only passed it on
  return Status::ok();
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
      if (!arrivals_.is_complete() || calls_.is_waiting(rank)) return data_loss("a collective call out of turn");
      auto call = decode_gather(bytes, Clock::now());
      if (!call) return call.status();
      enter(rank, std::move(*call));
      return Status::ok();
    }
    case FrameType::kGoodbye: {
      auto goodbye = decode_goodbye(bytes, ranks_);
      if (!goodbye) return goodbye.status();
      if (!arrivals_.is_complete()) return peer_failure("it left while ranks still joined");
      leave(rank, goodbyes_.words_of(rank, goodbye->last_words));
      return Status::ok();
    }
    case FrameType::kHubWords: goodbyes_.keep_hub_words(rank, bytes); return Status::ok();
    case FrameType::kClaim:
    case FrameType::kTold:
    case FrameType::kNeeds:
    case FrameType::kLacks:
    case FrameType::kGiveUp:
      return arrivals_.is_complete() ? claims_.handle(rank, type, bytes) : data_loss("a claim out of turn");
    case FrameType::kWhoIsLate: {
      const auto name = decode_name(bytes);
      if (!name) return name.status();
      tell_who_is_late(rank, *name);
      return Status::ok();
    }
    case FrameType::kHere: {
      auto here = decode_here(bytes);
      if (!here) return here.status();
      if (here->who.rank != rank) return data_loss("an introduction of another rank");
      arrivals_.take_in(std::move(*here));
      return Status::ok();
    }
    default: return data_loss("a control frame that only rank 0 sends");
  }
}

void Hub::enter(Rank rank, GatherCall call) {
  if (ending_.has_begun()) return;
  if (const auto gone = goodbyes_.first_left()) return fail(left_early(arrivals_.of(*gone), call.what));
  calls_.enter(rank, std::move(call));
}

/// Says nothing if they have come meanwhile.
void Hub::tell_who_is_late(Rank to, const std::string& name) {
  std::vector<Rank> late = claims_.missing(name);
  if (late.empty()) late = calls_.missing(name);
  if (late.empty() || ending_.has_begun()) return;
  const std::string sentence = not_come(name, std::move(late));
  if (to != 0) return seats_.send_to(to, FrameType::kLate, encode_late(sentence));
  log().warn("rank 0: {}", sentence);
}

void Hub::say_goodbye(const LastWords& words) {
  arrivals_.close_door();
  leave(0, words);
}

void Hub::leave(Rank rank, const LastWords& words) {
  if (ending_.has_begun() || goodbyes_.has_left(rank)) return;
  seats_.leave(rank);
  goodbyes_.add(rank, words, Clock::now());
  events_.left(rank, words);
  std::string waiting = calls_.waiting_for();
  if (waiting.empty()) waiting = claims_.needed_from(rank);
  if (!waiting.empty()) fail(left_early(arrivals_.of(rank), waiting));
}

void Hub::fail(Abort abort) {
  if (ending_.has_begun()) return;
  goodbyes_.announce_all(Clock::now());
  claims_.close();
  const bool waits = !arrivals_.is_complete() && abort.cause.code() != StatusCode::kTimeout;
  ending_.begin(std::move(abort), waits ? after(kFarewellTime) : Clock::now());
  broadcast(FrameType::kAbort, encode_abort(ending_.abort()));
  for (const Rank rank : seats_.taken()) ending_.told(rank);
  for (const auto& [rank, who] : arrivals_.here()) ending_.told(rank);
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
