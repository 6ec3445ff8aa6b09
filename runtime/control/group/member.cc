// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/member.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/control/group/faults.h"
#include "runtime/control/group/process_watch.h"

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
      pulse_(pulse),
      connection_(std::move(connection)),
      hub_process_(watch_process(hub, self)),
      early_(std::move(early)),
      events_(events),
      answer_(self.rank, self.ranks) {}

void Member::open_door(Door door, std::uint64_t epoch) {
  Relay::Ways ways;
  ways.up = [this](Rank from, FrameType type, const PayloadRef& payload) {
    send(FrameType::kUp, encode_passed({from, type, payload->bytes}));
  };
  ways.pass_up = [this](const PayloadRef& payload) {
    if (connection_ && !over_) connection_->send(FrameType::kUp, payload);
  };
  ways.lost = [this](const Abort& abort) { propose(abort); };
  relay_ = std::make_unique<Relay>(self_, std::move(door), epoch, pulse_, std::move(ways));
  send(FrameType::kHere, encode_here({self_, relay_->addresses()}));
}

void Member::attach(PollSet& set) {
  if (relay_) relay_->attach(set);
  connection_->attach(set, [this] { read(); });
  if (!hub_process_) return;
  hub_process_watch_ = set.watch(hub_process_.get(), [this] {
    read();  // its last words may still be in the socket
    if (connection_) lose(peer_failure("its process ended"));
  });
}

Clock::time_point Member::tend(Clock::time_point now) {
  if (!early_.empty() && connection_) {
    std::vector<Frame> frames;
    const Status status = connection_->push(early_, &frames);
    early_.clear();
    process(frames, status);
  }
  Clock::time_point next = relay_ ? relay_->tend(now) : Clock::time_point::max();
  if (!over_ && now >= proposal_.deadline()) fail({-1, proposal_.cause()});
  if (!over_) next = std::min(next, proposal_.deadline());
  if (!connection_) return next;
  next = std::min(next, connection_->keep_alive(now, pulse_.beat));
  return over_ ? next : std::min(next, watch_hub(now));
}

Clock::time_point Member::hub_silent_at() const {
  return connection_->last_heard() + std::chrono::duration_cast<Clock::duration>(pulse_.dead);
}

/// Fails if the hub has been silent for too long. Its word may be in the socket already, when this rank has had no time
/// to read. Returns when to look again.
Clock::time_point Member::watch_hub(Clock::time_point now) {
  if (now < hub_silent_at()) return hub_silent_at();
  read();
  if (!connection_ || over_) return now;
  if (now < hub_silent_at()) return hub_silent_at();
  if (hub_left_) {
    lose(peer_failure("silent"));
    return Clock::time_point::max();
  }
  const Abort abort = silent(hub_, now - connection_->last_heard());
  // Should it wake up again, it finds this in its socket.
  connection_->send(FrameType::kAbort, encode_abort(abort));
  fail(abort);
  return Clock::time_point::max();
}

void Member::forgive(Clock::duration stalled) {
  if (connection_) connection_->forgive(stalled);
  if (relay_) relay_->forgive(stalled);
}

void Member::read() {
  if (!connection_) return;
  std::vector<Frame> frames;
  const Status status = connection_->read(&frames);
  connection_->write();
  process(frames, status);
}

void Member::process(const std::vector<Frame>& frames, Status status) {
  for (const Frame& frame : frames) {
    const Status handled = handle(frame.type, frame.payload);
    if (!handled) {
      status = handled;
      break;
    }
  }
  if (!status) lose(status);
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
    case FrameType::kAllGathered: return handle_all_gathered(bytes);
    case FrameType::kBeat: return Status::ok();
    case FrameType::kReady: {
      auto roster = decode_roster(bytes, self_.ranks);
      if (relay_) relay_->close_door();
      if (roster) events_.joined(std::move(*roster));
      return roster.status();
    }
    case FrameType::kAbort: {
      auto abort = decode_abort(bytes);
      if (abort) fail(*abort);
      return abort.status();
    }
    case FrameType::kGathered: return handle_gathered(bytes);
    case FrameType::kRefused: {
      auto refusal = decode_abort(bytes);
      if (refusal && answer_.is_expected()) events_.gathered(refusal->cause);
      answer_.drop();
      return refusal.status();
    }
    case FrameType::kGoodbye: {
      auto goodbye = decode_goodbye(bytes, self_.ranks);
      if (!goodbye) return goodbye.status();
      for (const Rank rank : goodbye->ranks) {
        hub_left_ = hub_left_ || rank == 0 || rank == hub_.rank;
        if (!over_) events_.left(rank, {goodbye->last_words});
      }
      return Status::ok();
    }
    case FrameType::kAgreed: return handle_agreed(bytes);
    case FrameType::kAsk: return handle_ask(bytes);
    case FrameType::kNeeded: return handle_needed(bytes);
    default: break;
  }
  return data_loss("a control frame that only members send");
}

Status Member::handle_gathered(const std::string& bytes) {
  auto gathered = decode_gathered(bytes, self_.ranks);
  if (!gathered) return gathered.status();
  auto all = answer_.take(*gathered);
  if (!all) return all.status();
  if (*all) events_.gathered(std::move(**all));
  return Status::ok();
}

Status Member::handle_all_gathered(const std::string& bytes) {
  auto blobs = decode_all_gathered(bytes, self_.ranks);
  if (!blobs) return blobs.status();
  if (!answer_.is_expected()) return data_loss("blobs that nobody asked for");
  answer_.drop();
  events_.gathered(std::move(*blobs));
  return Status::ok();
}

Status Member::handle_agreed(const std::string& bytes) {
  const auto agreed = decode_agreement(bytes);
  if (!agreed) return agreed.status();
  Agreement agreement;
  agreement.in_turn = agreed->in_turn;
  for (const std::string_view key : agreed->keys) {
    agreement.names.push_back(own_claims_.name_of(key));
    if (agreement.names.back().empty()) return data_loss("an agreement about a name that this rank has not claimed");
  }
  events_.agreed(agreement);
  return Status::ok();
}

Status Member::handle_ask(const std::string& bytes) {
  const auto name = decode_name(bytes);
  if (!name) return name.status();
  const Facts* const facts = own_claims_.facts_of(*name);
  if (facts == nullptr) return data_loss("a question about a name that this rank has not claimed");
  send(FrameType::kTold, encode_told(*name, *facts));
  return Status::ok();
}

Status Member::handle_needed(const std::string& bytes) {
  const auto needs = decode_needs(bytes);
  if (!needs) return needs.status();
  for (const std::string& name : needs->names) events_.needed(name, needs->step);
  return Status::ok();
}

void Member::send(FrameType type, std::string payload) {
  if (connection_ && !over_) connection_->send(type, std::move(payload));
}

void Member::claim(std::vector<Claim> claims) {
  send(FrameType::kClaim, encode_claims(own_claims_.keep(std::move(claims))));
}

void Member::need(const std::vector<std::string>& names, std::uint32_t step) {
  send(FrameType::kNeeds, encode_needs({step, names}));
}

void Member::lack(const std::string& name) { send(FrameType::kLacks, encode_name(name)); }

void Member::give_up(const std::string& name) { send(FrameType::kGiveUp, encode_name(name)); }

void Member::gather(GatherCall call) {
  if (is_alone()) events_.gathered(left_early(hub_, call.what).cause);
  if (!connection_ || over_) return;
  answer_.expect(call.blob);
  connection_->send(FrameType::kGather, encode_gather(call, Clock::now()));
}

void Member::abort(const Status& cause) { propose({-1, cause}); }

/// Another rank may have been first: the hub's answer decides, so that all ranks report the same.
void Member::propose(const Abort& abort) {
  if (over_ || proposal_.is_made()) return;
  if (is_alone()) return fail(abort);
  proposal_.make(abort.cause, after(kProposalTime));
  if (connection_) connection_->send(FrameType::kAbort, encode_abort(abort));
}

void Member::say_goodbye(const LastWords& words) {
  if (over_ || said_goodbye_) return;
  said_goodbye_ = true;
  if (!connection_) return;
  if (!words.to_hub.empty()) connection_->send(FrameType::kHubWords, words.to_hub);
  connection_->send(FrameType::kGoodbye, encode_goodbye({{self_.rank}, words.to_all}));
}

void Member::lose(const Status& reason) {
  connection_.reset();
  hub_process_watch_.reset();
  hub_process_.reset();
  if (over_) return;
  if (proposal_.is_made() && (hub_left_ || !blames_peer(proposal_.cause(), self_.rank))) {
    return fail({-1, proposal_.cause()});
  }
  if (!hub_left_) return fail(died(hub_, reason));
  // Rank 0 waited for the others as long as it would, and what it owed them has arrived.
  if (answer_.is_expected()) events_.gathered(left_early(hub_, "a collective call").cause);
  answer_.drop();
  events_.alone();
  if (relay_) relay_->drop_children();
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
