// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/wire/door.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>

#include "base/log.h"
#include "runtime/control/wire/socket.h"

namespace casync::runtime {
namespace {

constexpr int kAcceptsAtOnce = 32;
constexpr auto kNoDescriptorsPause = std::chrono::milliseconds(100);
/// In a crowd a caller has its place for so long. An honest one needs milliseconds.
constexpr auto kPlaceTime = std::chrono::seconds(1);

}  // namespace

void Door::attach(PollSet& set, Judge judge, Admit admit) {
  set_ = &set;
  judge_ = std::move(judge);
  admit_ = std::move(admit);
  listen();
}

void Door::listen() {
  for (const Fd& listener : listeners_) {
    listening_.push_back(set_->watch(listener.get(), [this, fd = listener.get()] { accept_some(fd); }));
  }
}

/// A crowd waits outside, in the order in which it came, while there is no place inside.
Clock::time_point Door::open_from() const {
  if (callers_.size() < kMostCallers) return pause_until_;
  return std::max(pause_until_, callers_.front().came + kPlaceTime);
}

void Door::accept_some(int listener) {
  for (int i = 0; i < kAcceptsAtOnce; ++i) {
    if (Clock::now() < open_from()) return listening_.clear();
    Fd fd(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd) {
      let_in(std::move(fd));
      continue;
    }
    if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) return;
    // Out of descriptors or memory: the caller stays in the backlog, and listening now would spin.
    pause_until_ = Clock::now() + kNoDescriptorsPause;
    if (!callers_.empty()) refuse(callers_.begin(), "this process is out of file descriptors");
  }
}

void Door::let_in(Fd fd) {
  if (callers_.size() >= kMostCallers) put_off_oldest();
  set_connection_options(fd.get(), dead_);
  const int number = fd.get();
  const std::string source = peer_address(number).host_text();
  callers_.push_back({std::move(fd), source, Clock::now(), {}, HubHandshake(self_, token_)});
  callers_.back().watch = set_->watch(number, [this, number] { advance(number); });
}

/// The oldest caller makes room. It may be an honest rank on a busy machine, which comes back.
void Door::put_off_oldest() {
  log().debug("put off {}: {} callers at once", callers_.front().source, callers_.size());
  strangers_.put_off();
  callers_.erase(callers_.begin());
}

void Door::advance(int fd) {
  for (auto caller = callers_.begin(); caller != callers_.end(); ++caller) {
    if (caller->fd.get() == fd) return advance(caller);
  }
}

void Door::advance(Callers::iterator caller) {
  std::array<char, kMostPacket> buffer;
  const ssize_t got = recv(caller->fd.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return refuse(caller, "it hung up without proving anything");
  caller->packets.push({buffer.data(), static_cast<Bytes>(got)});
  for (bool done = false; !done;) {
    auto packet = caller->packets.next();
    if (!packet) return refuse(caller, packet.status().message());
    if (!packet->has_value()) return;
    const Status status = step(*caller, **packet, &done);
    if (!status) return refuse(caller, status.message());
  }
  callers_.erase(caller);
}

Status Door::step(Caller& caller, const std::string& packet, bool* done) {
  // Our packets fit any socket buffer: one that does not leave at once belongs to somebody who does not read.
  const auto at_once = Clock::now();
  if (!caller.challenged) {
    auto challenge = caller.handshake.challenge(packet);
    if (!challenge) return challenge.status();
    caller.challenged = true;
    return send_all(caller.fd.get(), *challenge, at_once);
  }
  const Status proof = caller.handshake.check_proof(packet);
  const Hello& hello = caller.handshake.hello();
  const Verdict verdict = proof ? judge_(hello) : Verdict{Verdict::Kind::kRefused, 0, proof};
  // Without the token the other side cannot check this answer, but it learns that there is one.
  CASYNC_RETURN_IF_ERROR(send_all(caller.fd.get(), caller.handshake.verdict(verdict), at_once));
  if (verdict.kind == Verdict::Kind::kElsewhere) {
    *done = true;
    return Status::ok();
  }
  if (verdict.kind != Verdict::Kind::kWelcome) return verdict.reason;
  const SessionKeys keys = caller.handshake.keys();
  caller.watch.reset();
  admit_(hello.who, Connection(std::move(caller.fd), keys.to_hub, keys.to_member, Clock::now()));
  *done = true;
  return Status::ok();
}

void Door::refuse(Callers::iterator caller, const std::string& why) {
  strangers_.refused(caller->source, why, Clock::now());
  callers_.erase(caller);
}

Clock::time_point Door::tend(Clock::time_point now) {
  const auto latest = std::chrono::duration_cast<Clock::duration>(kHandshakeTime);
  while (!callers_.empty() && callers_.front().came + latest <= now) {
    refuse(callers_.begin(), "it proved nothing for 5 s");
  }
  if (listening_.empty() && now >= open_from()) listen();
  Clock::time_point next = Clock::time_point::max();
  if (!callers_.empty()) next = callers_.front().came + latest;
  if (listening_.empty() && !listeners_.empty()) next = std::min(next, open_from());
  return next;
}

std::vector<std::string> Door::addresses() const {
  std::vector<std::string> addresses;
  for (const Fd& listener : listeners_) addresses.push_back(local_address(listener.get()).text());
  return addresses;
}

void Door::close() {
  listening_.clear();
  callers_.clear();
  listeners_.clear();
}

}  // namespace casync::runtime
