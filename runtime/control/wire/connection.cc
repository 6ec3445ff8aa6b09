// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/wire/connection.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "runtime/control/wire/socket.h"

namespace casync::runtime {
namespace {

constexpr Bytes kReadBytes = 64_KiB;
constexpr int kReadsAtOnce = 16;  // a large blob does not keep the beats of others waiting

std::array<iovec, 2> unsent_parts(const std::string& header, const std::string& payload, Bytes written) {
  const auto part = [](const std::string& bytes, Bytes skip) {
    skip = std::min(skip, bytes.size());
    return iovec{const_cast<char*>(bytes.data()) + skip, bytes.size() - skip};
  };
  return {part(header, written), part(payload, written - std::min(written, header.size()))};
}

// A reset is how a killed process with unread bytes says "closed".
Status failure_of(int error) {
  return peer_failure(error == ECONNRESET || error == EPIPE ? "connection closed" : error_text(error));
}

}  // namespace

Connection::Connection(Fd fd, std::string key_in, std::string key_out, Clock::time_point now)
    : fd_(std::move(fd)), parser_(std::move(key_in)), sealer_(std::move(key_out)), last_heard_(now), last_sent_(now) {}

void Connection::send(FrameType type, PayloadRef payload) {
  if (hung_up_) return;
  queue_.push_back({type, std::move(payload)});
  write();
}

void Connection::hang_up() {
  hung_up_ = true;
  shutdown(fd_.get(), SHUT_WR);
}

void Connection::attach(PollSet& set, PollSet::Handler ready) {
  watch_ = set.watch(fd_.get(), std::move(ready));
  watch_.want_output(has_output());
}

void Connection::flush() {
  while (has_output()) {
    // Sealed when it leaves, not when it is queued: the sequence follows the wire.
    if (header_.empty()) header_ = sealer_.header(queue_.front().type, *queue_.front().payload);
    const std::string& payload = queue_.front().payload->bytes;
    auto parts = unsent_parts(header_, payload, written_);
    msghdr message = {};
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    const ssize_t sent = sendmsg(fd_.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN) return;
      failure_ = failure_of(errno);
      shutdown(fd_.get(), SHUT_RDWR);  // wakes who polls, and the peer
      return;
    }
    last_sent_ = Clock::now();
    written_ += static_cast<Bytes>(sent);
    moved_ += static_cast<Bytes>(sent);
    if (written_ < header_.size() + payload.size()) continue;
    header_.clear();
    written_ = 0;
    queue_.pop_front();
  }
}

Status Connection::read(std::vector<Frame>* frames) {
  std::array<char, kReadBytes> buffer;  // on the stack and not cleared: this runs for every frame
  for (int i = 0; i < kReadsAtOnce; ++i) {
    const ssize_t got = recv(fd_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 && !failure_) return failure_;
    if (got == 0) return peer_failure("connection closed");
    if (got < 0) return errno == EAGAIN ? Status::ok() : failure_of(errno);
    last_heard_ = Clock::now();
    moved_ += static_cast<Bytes>(got);
    CASYNC_RETURN_IF_ERROR(parser_.push({buffer.data(), static_cast<Bytes>(got)}, frames));
  }
  return Status::ok();
}

Clock::time_point Connection::keep_alive(Clock::time_point now, Seconds beat) {
  const auto every = std::chrono::duration_cast<Clock::duration>(beat);
  // Bytes still waiting to leave are a beat already, or nothing would help.
  if (!has_output() && now - last_sent_ >= every) send(FrameType::kBeat, std::string());
  return (has_output() ? now : last_sent_) + every;
}

}  // namespace casync::runtime
