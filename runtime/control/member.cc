// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/member.h"

#include <algorithm>

#include "runtime/control/faults.h"
#include "runtime/control/process_watch.h"

namespace casync::runtime {
namespace {

constexpr Seconds kProposalTime{1};

}  // namespace

Member::Member(const Identity& self, const Identity& hub, const Pulse& pulse, Connection connection, std::string early,
               RoleEvents& events)
    : self_(self),
      hub_(hub),
      pulse_(pulse),
      connection_(std::move(connection)),
      hub_process_(watch_process(hub, self)),
      early_(std::move(early)),
      events_(events) {}

void Member::watch(PollSet& set) {
  if (!connection_) return;
  set.add(connection_->fd(), connection_->has_output(), [this] { read(); });
  if (!hub_process_) return;
  set.add(hub_process_.get(), false, [this] {
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
  Clock::time_point next = Clock::time_point::max();
  if (!over_ && proposed_ && now >= proposal_deadline_) fail({-1, *proposed_});
  if (!over_ && proposed_) next = proposal_deadline_;
  if (!connection_) return next;
  next = std::min(next, connection_->keep_alive(now, pulse_.beat));
  if (over_ || hub_left_) return next;
  const Clock::time_point silent_at =
      connection_->last_heard() + std::chrono::duration_cast<Clock::duration>(pulse_.dead);
  if (now < silent_at) return std::min(next, silent_at);
  const Abort abort = silent(hub_, now - connection_->last_heard());
  // Should it wake up again, it finds this in its socket.
  connection_->send(FrameType::kAbort, encode_abort(abort));
  fail(abort);
  return next;
}

void Member::forgive(Clock::duration stalled) {
  if (connection_) connection_->forgive(stalled);
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
    const Status handled = handle(frame);
    if (!handled) {
      status = handled;
      break;
    }
  }
  if (!status) lose(status);
}

Status Member::handle(const Frame& frame) {
  const std::string& bytes = frame.payload->bytes;
  switch (frame.type) {
    case FrameType::kBeat: return Status::ok();
    case FrameType::kReady: {
      auto roster = decode_roster(bytes, self_.ranks);
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
      if (refusal && blobs_missing_ != 0) events_.gathered(refusal->cause);
      blobs_missing_ = 0;
      return refusal.status();
    }
    case FrameType::kGoodbye: {
      auto rank = decode_rank(bytes, self_.ranks);
      if (!rank) return rank.status();
      hub_left_ = hub_left_ || *rank == 0;
      if (!over_) events_.left(*rank);
      return Status::ok();
    }
    case FrameType::kGather: break;
  }
  return data_loss("a control frame that only members send");
}

Status Member::handle_gathered(const std::string& bytes) {
  auto gathered = decode_gathered(bytes, self_.ranks);
  if (!gathered) return gathered.status();
  const auto place = static_cast<std::size_t>(gathered->rank);
  if (blobs_missing_ == 0 || blobs_[place] != nullptr) return data_loss("a blob that nobody asked for");
  blobs_[place] = std::make_shared<const std::string>(gathered->blob);
  if (--blobs_missing_ == 0) events_.gathered(std::move(blobs_));
  return Status::ok();
}

void Member::gather(GatherCall call) {
  if (!connection_ || over_) return;
  blobs_.assign(static_cast<std::size_t>(self_.ranks), nullptr);
  blobs_[static_cast<std::size_t>(self_.rank)] = call.blob;
  blobs_missing_ = self_.ranks - 1;
  connection_->send(FrameType::kGather, encode_gather(call, Clock::now()));
}

void Member::abort(const Status& cause) {
  if (over_ || proposed_) return;
  // Another rank may have been first: the hub's answer decides, so that all ranks report the same.
  proposed_ = cause;
  proposal_deadline_ = after(kProposalTime);
  if (connection_) connection_->send(FrameType::kAbort, encode_abort({-1, cause}));
}

void Member::say_goodbye() {
  if (over_ || said_goodbye_) return;
  said_goodbye_ = true;
  if (connection_) connection_->send(FrameType::kGoodbye, encode_rank(self_.rank));
}

void Member::lose(const Status& reason) {
  connection_.reset();
  hub_process_.reset();
  if (over_) return;
  if (proposed_) return fail({-1, *proposed_});
  if (!hub_left_) return fail(died(hub_, reason));
  if (!said_goodbye_) return fail(hub_left_early(hub_));
  // The hub waited for the others as long as it would; nobody is left to hear from.
  for (Rank rank = 0; rank < self_.ranks; ++rank) events_.left(rank);
}

void Member::fail(const Abort& abort) {
  if (over_) return;
  over_ = true;
  events_.failed(cause_for(self_.rank, abort));
}

}  // namespace casync::runtime
