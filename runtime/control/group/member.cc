// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/member.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/control/group/faults.h"

namespace casync::runtime {
namespace {

constexpr Seconds kProposalTime{1};

/// Returns true if another rank is gone by this cause. Once the hub has died, ranks that know of it leave: its death is
/// the reason.
bool blames_peer(const Status& cause, Rank self) {
  return cause.code() == StatusCode::kPeerFailure && !cause.message().starts_with(fmt::format("rank {} ", self));
}

}  // namespace

Member::Member(const Identity& self, const Identity& hub, const Pulse& pulse, Connection connection, std::string early,
               RoleEvents& events)
    : self_(self),
      hub_(hub),
      root_(hub),
      events_(events),
      link_(self, hub, pulse, std::move(connection), std::move(early),
            {.frame = [this](const Frame& frame) { return handle(frame.type, frame.payload); },
             .lost = [this](const Status& why) { lose(why); }}),
      requests_(self, events, [this](FrameType type, std::string payload) { send(type, std::move(payload)); }),
      pulse_(pulse) {}

void Member::open_door(Door door, std::uint64_t epoch) {
  Relay::Ways ways;
  ways.up = [this](Rank from, FrameType type, const PayloadRef& payload) {
    send(FrameType::kUp, encode_passed({from, type, payload->bytes}));
  };
  ways.pass_up = [this](const PayloadRef& payload) {
    if (!over_) link_.send(FrameType::kUp, payload);
  };
  ways.lost = [this](const Abort& abort) { propose(abort); };
  relay_ = std::make_unique<Relay>(self_, std::move(door), epoch, pulse_, std::move(ways));
  send(FrameType::kHere, encode_here({self_, relay_->addresses()}));
}

void Member::attach(PollSet& set) {
  if (relay_) relay_->attach(set);
  link_.attach(set);
}

Clock::time_point Member::tend(Clock::time_point now) {
  link_.read_early();
  Clock::time_point next = relay_ ? relay_->tend(now) : Clock::time_point::max();
  if (!over_ && now >= proposal_.deadline()) fail({-1, proposal_.cause()});
  if (!over_) next = std::min(next, proposal_.deadline());
  if (!link_.is_open()) return next;
  next = std::min(next, link_.keep_alive(now));
  return over_ ? next : std::min(next, watch_hub(now));
}

/// Fails if the hub has been silent for too long. Returns when to look again.
Clock::time_point Member::watch_hub(Clock::time_point now) {
  const std::optional<Clock::duration> silence = link_.silence(now);
  if (!link_.is_open() || over_) return now;
  if (!silence) return link_.silent_at();
  if (leaver_) {
    lose(peer_failure("silent"));
    return Clock::time_point::max();
  }
  const Abort abort = silent(hub_, *silence);
  // Should it wake up again, it finds this in its socket.
  link_.send(FrameType::kAbort, encode_abort(abort));
  fail(abort);
  return Clock::time_point::max();
}

void Member::forgive(Clock::duration stalled) {
  link_.forgive(stalled);
  if (relay_) relay_->forgive(stalled);
}

/// Rank 0 says these to everybody.
bool goes_to_all(FrameType type) {
  switch (type) {
    case FrameType::kReady:
    case FrameType::kAbort:
    case FrameType::kGoodbye:
    case FrameType::kAgreed:
    case FrameType::kGathered:
    case FrameType::kAllGathered: return true;
    default: return false;
  }
}

Status Member::handle_down(const PayloadRef& payload) {
  const auto passed = decode_passed(payload->bytes, self_.ranks);
  if (!passed) return passed.status();
  if (passed->rank == self_.rank) return handle(passed->type, make_payload(std::string(passed->bytes)));
  if (relay_) relay_->down_to(*passed);
  return Status::ok();
}

Status Member::handle(FrameType type, const PayloadRef& payload) {
  const std::string& bytes = payload->bytes;
  if (relay_ && goes_to_all(type)) relay_->down(type, payload);
  switch (type) {
    case FrameType::kDown: return handle_down(payload);
    case FrameType::kBeat: return Status::ok();
    case FrameType::kReady: {
      auto roster = decode_roster(bytes, self_.ranks);
      if (relay_) relay_->close_door();
      if (roster) {
        root_ = roster->front();
        events_.joined(std::move(*roster));
      }
      return roster.status();
    }
    case FrameType::kAbort: {
      auto abort = decode_abort(bytes);
      if (abort) fail(*abort);
      return abort.status();
    }
    case FrameType::kGoodbye: {
      auto goodbye = decode_goodbye(bytes, self_.ranks);
      if (!goodbye) return goodbye.status();
      for (const Rank rank : goodbye->ranks) {
        if (!leaver_ && (rank == 0 || rank == hub_.rank)) leaver_ = rank == 0 ? root_ : hub_;
        if (rank == self_.rank) goodbye_.reset();
        if (!over_) events_.left(rank, {goodbye->last_words});
      }
      return Status::ok();
    }
    case FrameType::kAlone: {
      auto leaver = decode_alone(bytes);
      if (leaver && !leaver_) leaver_ = std::move(*leaver);
      return leaver.status();
    }
    default: return requests_.handle(type, bytes);
  }
}

void Member::send(FrameType type, std::string payload) {
  if (!over_) link_.send(type, std::move(payload));
}

void Member::gather(GatherCall call) {
  if (is_alone()) events_.gathered(left_early(*leaver_, call.what).cause);
  if (link_.is_open() && !over_) requests_.gather(call);
}

void Member::abort(const Status& cause) { propose({-1, cause}); }

/// Another rank may have been first: the hub's answer decides, so that all ranks report the same.
void Member::propose(const Abort& abort) {
  if (over_ || proposal_.is_made()) return;
  if (is_alone()) return fail(abort);
  proposal_.make(abort.cause, after(kProposalTime));
  link_.send(FrameType::kAbort, encode_abort(abort));
}

void Member::say_goodbye(const LastWords& words) {
  if (over_ || said_goodbye_) return;
  said_goodbye_ = true;
  if (!words.to_hub.empty()) link_.send(FrameType::kHubWords, words.to_hub);
  goodbye_ = make_payload(encode_goodbye({{self_.rank}, words.to_all}));
  link_.send(FrameType::kGoodbye, goodbye_);
}

/// Children of a rank that leaves without waiting have not heard of its goodbye from rank 0.
void Member::hang_up() {
  if (!relay_) return;
  if (goodbye_ && !over_) relay_->down(FrameType::kGoodbye, goodbye_);
  relay_->hang_up();
}

void Member::lose(const Status& reason) {
  link_.close();
  if (over_) return;
  if (proposal_.is_made() && (leaver_ || !blames_peer(proposal_.cause(), self_.rank))) {
    return fail({-1, proposal_.cause()});
  }
  if (!leaver_) return fail(died(hub_, reason));
  // It waited for the others as long as it would, and what it owed them has arrived.
  requests_.drop(*leaver_);
  events_.alone(leaver_->rank);
  if (!relay_) return;
  relay_->down(FrameType::kAlone, make_payload(encode_alone(*leaver_)));
  relay_->drop_children();
}

void Member::fail(const Abort& abort) {
  if (over_) return;
  over_ = true;
  if (relay_) {
    relay_->refuse(abort.cause);
    relay_->down(FrameType::kAbort, make_payload(encode_abort(abort)));
  }
  events_.failed(cause_for(self_.rank, abort));
}

}  // namespace casync::runtime
