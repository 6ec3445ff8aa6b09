// SPDX-License-Identifier: Apache-2.0
#include "runtime/control/group/hub_link.h"

#include <utility>

#include "runtime/control/group/process_watch.h"

namespace casync::runtime {

HubLink::HubLink(const Identity& self, const Identity& hub, const Pulse& pulse, Connection connection,
                 std::string early, Events events)
    : pulse_(pulse),
      connection_(std::move(connection)),
      process_(watch_process(hub, self)),
      early_(std::move(early)),
      events_(std::move(events)) {}

void HubLink::attach(PollSet& set) {
  connection_->attach(set, [this] { read(); });
  if (!process_) return;
  process_watch_ = set.watch(process_.get(), [this] {
    read_rest();
    if (connection_) events_.lost(peer_failure("its process ended"));
  });
}

void HubLink::close() {
  connection_.reset();
  process_watch_.reset();
  process_.reset();
}

void HubLink::read_early() {
  if (early_.empty() || !connection_) return;
  std::vector<Frame> frames;
  const Status status = connection_->push(early_, &frames);
  early_.clear();
  process(frames, status);
}

Clock::time_point HubLink::silent_at() const {
  return connection_->last_heard() + std::chrono::duration_cast<Clock::duration>(pulse_.dead);
}

std::optional<Clock::duration> HubLink::silence(Clock::time_point now) {
  if (now < silent_at()) return std::nullopt;
  read();
  if (!connection_ || now < silent_at()) return std::nullopt;
  return now - connection_->last_heard();
}

void HubLink::forgive(Clock::duration stalled) {
  if (connection_) connection_->forgive(stalled);
}

void HubLink::read() {
  if (!connection_) return;
  std::vector<Frame> frames;
  const Status status = connection_->read(&frames);
  connection_->write();
  process(frames, status);
}

/// The last words of a process that has ended may still be in the socket, and more than one read takes.
void HubLink::read_rest() {
  Bytes before = 0;
  do {
    before = bytes_moved();
    read();
  } while (connection_ && bytes_moved() != before);
}

void HubLink::process(const std::vector<Frame>& frames, Status status) {
  for (const Frame& frame : frames) {
    const Status handled = events_.frame(frame);
    if (!handled) {
      status = handled;
      break;
    }
  }
  if (!status) events_.lost(status);
}

}  // namespace casync::runtime
