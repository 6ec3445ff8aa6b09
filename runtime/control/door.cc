// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/door.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <optional>

#include "base/log.h"
#include "runtime/control/socket.h"

namespace casync::runtime {
namespace {

constexpr std::size_t kFewestCallers = 64;
constexpr int kAcceptsPerTurn = 32;
constexpr auto kNoDescriptorsPause = std::chrono::milliseconds(100);

}  // namespace

void Door::watch(PollSet& set, const Judge& judge, const Admit& admit) {
  for (const Fd& listener : listeners_) {
    if (Clock::now() < pause_until_) break;
    set.add(listener.get(), false, [this, fd = listener.get()] { accept_some(fd); });
  }
  for (auto caller = callers_.begin(); caller != callers_.end(); ++caller) {
    // Handlers run once per sleep and a full house evicts the oldest: look the caller up again.
    set.add(caller->fd.get(), false, [this, fd = caller->fd.get(), judge, admit] {
      for (auto i = callers_.begin(); i != callers_.end(); ++i) {
        if (i->fd.get() == fd) return advance(i, judge, admit);
      }
    });
  }
}

void Door::accept_some(int listener) {
  for (int turn = 0; turn < kAcceptsPerTurn; ++turn) {
    Fd fd(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd) {
      if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED) return;
      // Out of descriptors or memory: the caller stays in the backlog, and polling it now would spin.
      pause_until_ = Clock::now() + kNoDescriptorsPause;
      if (!callers_.empty()) refuse(callers_.begin(), "this process is out of file descriptors");
      return;
    }
    if (callers_.size() >= most_callers()) put_off_oldest();
    set_connection_options(fd.get(), dead_);
    const std::string source = peer_address(fd.get()).host_text();
    callers_.push_back({std::move(fd), source, after(kHandshakeTime), {}, HubHandshake(self_, token_)});
  }
}

/// The most callers at a time: all ranks at once, and kFewestCallers strangers as well.
std::size_t Door::most_callers() const { return kFewestCallers + static_cast<std::size_t>(self_.ranks); }

/// In a crowd the oldest caller makes room. It may be an honest rank on a busy machine, which comes back.
void Door::put_off_oldest() {
  log().debug("put off {}: {} callers at once", callers_.front().source, callers_.size());
  strangers_.put_off();
  callers_.erase(callers_.begin());
}

void Door::advance(Callers::iterator caller, const Judge& judge, const Admit& admit) {
  std::array<char, kMostPacket> buffer;
  const ssize_t got = recv(caller->fd.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return refuse(caller, "it hung up before it proved anything");
  caller->packets.push({buffer.data(), static_cast<Bytes>(got)});
  for (bool done = false; !done;) {
    auto packet = caller->packets.next();
    if (!packet) return refuse(caller, packet.status().message());
    if (!packet->has_value()) return;
    const Status status = step(*caller, **packet, judge, admit, &done);
    if (!status) return refuse(caller, status.message());
  }
  callers_.erase(caller);
}

Status Door::step(Caller& caller, const std::string& packet, const Judge& judge, const Admit& admit, bool* done) {
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
  const Verdict verdict = proof ? judge(hello) : Verdict{Verdict::Kind::kRefused, 0, proof};
  // Without the token the other side cannot check this answer, but it learns that there is one.
  CASYNC_RETURN_IF_ERROR(send_all(caller.fd.get(), caller.handshake.verdict(verdict), at_once));
  if (verdict.kind == Verdict::Kind::kElsewhere) {
    *done = true;
    return Status::ok();
  }
  if (verdict.kind != Verdict::Kind::kWelcome) return verdict.reason;
  const SessionKeys keys = caller.handshake.keys();
  admit(hello.who, Connection(std::move(caller.fd), keys.to_hub, keys.to_member, Clock::now()));
  *done = true;
  return Status::ok();
}

void Door::refuse(Callers::iterator caller, const std::string& why) {
  strangers_.refused(caller->source, why, Clock::now());
  callers_.erase(caller);
}

Clock::time_point Door::tend(Clock::time_point now) {
  while (!callers_.empty() && callers_.front().deadline <= now) {
    refuse(callers_.begin(), "it proved nothing for 5 s");
  }
  Clock::time_point next = Clock::time_point::max();
  if (!callers_.empty()) next = callers_.front().deadline;
  if (now < pause_until_) next = std::min(next, pause_until_);
  return next;
}

std::vector<std::string> Door::addresses() const {
  std::vector<std::string> addresses;
  for (const Fd& listener : listeners_) addresses.push_back(local_address(listener.get()).text());
  return addresses;
}

void Door::close() {
  callers_.clear();
  listeners_.clear();
}

}  // namespace casync::runtime
