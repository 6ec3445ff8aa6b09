// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "runtime/control/group/pulse.h"
#include "runtime/control/wire/connection.h"
#include "runtime/control/wire/fd.h"
#include "runtime/control/wire/frame.h"
#include "runtime/control/wire/identity.h"
#include "runtime/control/wire/poll_set.h"

namespace casync::runtime {

/// A member's connection to the hub, and the hub's process where that is on this machine. All on the group's thread.
class HubLink {
 public:
  struct Events {
    /// The hub said this. An error ends the connection.
    std::function<Status(const Frame& frame)> frame;
    /// The connection has failed, or the hub's process has ended.
    std::function<void(const Status& why)> lost;
  };
  /// `early`: bytes that came right after the handshake.
  HubLink(const Identity& self, const Identity& hub, const Pulse& pulse, Connection connection, std::string early,
          Events events);

  void attach(PollSet& set);
  bool is_open() const { return connection_.has_value(); }
  void close();
  void send(FrameType type, std::string payload) {
    if (connection_) connection_->send(type, std::move(payload));
  }
  void send(FrameType type, PayloadRef payload) {
    if (connection_) connection_->send(type, std::move(payload));
  }

  void read_early();
  /// Sends a beat if one is due. Returns when the next one is; it is open.
  Clock::time_point keep_alive(Clock::time_point now) { return connection_->keep_alive(now, pulse_.beat); }
  /// The time for which the hub has been silent, if that is too long. Its word may be in the socket already, when this
  /// rank has had no time to read: reads first. Empty if it is not too long, or if that has closed the link.
  std::optional<Clock::duration> silence(Clock::time_point now);
  /// The moment from which on the hub has been silent for too long; it is open.
  Clock::time_point silent_at() const;
  void forgive(Clock::duration stalled);

  bool has_output() const { return connection_ && connection_->has_output(); }
  Bytes bytes_moved() const { return connection_ ? connection_->bytes_moved() : 0; }

 private:
  void read();
  void read_rest();
  void process(const std::vector<Frame>& frames, Status status);

  Pulse pulse_;
  std::optional<Connection> connection_;
  Fd process_;
  Watch process_watch_;
  std::string early_;
  Events events_;
};

}  // namespace casync::runtime
