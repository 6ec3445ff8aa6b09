// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "runtime/control/wire/fd.h"
#include "runtime/control/wire/frame.h"
#include "runtime/control/wire/poll_set.h"

namespace casync::runtime {

/// A proven connection: frames in, frames out, and when either last moved. Never blocks. One thread.
class Connection {
 public:
  Connection(Fd fd, std::string key_in, std::string key_out, Clock::time_point now);

  int fd() const { return fd_.get(); }
  /// Runs `ready` when there is something to read, or room for what waits to leave. `set` outlives the connection.
  void attach(PollSet& set, PollSet::Handler ready);
  bool has_output() const { return failure_.is_ok() && (!header_.empty() || !queue_.empty()); }

  /// Queues a frame and writes what the socket takes now. A failure ends both directions: the set calls the socket
  /// readable at once, and the next read() reports it.
  void send(FrameType type, PayloadRef payload);
  void send(FrameType type, std::string payload) { send(type, make_payload(std::move(payload))); }
  void write() {
    flush();
    watch_.want_output(has_output());
  }
  /// Tells the peer that nothing more comes. Later frames are dropped; reading goes on.
  void hang_up();

  /// Appends the frames that arrived, a bounded amount per call. PeerFailure: closed, and how. DataLoss: damaged
  /// bytes. Frames ahead of the end are delivered with it.
  Status read(std::vector<Frame>* frames);

  /// Sends a beat when nothing was sent for `beat`; returns when the next is due.
  Clock::time_point keep_alive(Clock::time_point now, Seconds beat);
  Clock::time_point last_heard() const { return last_heard_; }
  Bytes bytes_moved() const { return moved_; }
  /// Time in which this process itself did not run is not held against the peer.
  void forgive(Clock::duration stalled) { last_heard_ = std::min(last_heard_ + stalled, Clock::now()); }

  /// Bytes that came with the handshake. Same errors as read().
  Status push(std::string_view bytes, std::vector<Frame>* frames) { return parser_.push(bytes, frames); }

 private:
  void flush();

  Fd fd_;
  FrameParser parser_;
  FrameSealer sealer_;
  std::deque<Frame> queue_;
  std::string header_;  ///< of the frame at the front, once it has begun to leave
  Bytes written_ = 0;   ///< of that frame, header included
  Status failure_;      ///< of writing
  bool hung_up_ = false;
  Bytes moved_ = 0;  ///< both ways
  Clock::time_point last_heard_, last_sent_;
  Watch watch_;  // last: it ends ahead of the descriptor
};

}  // namespace casync::runtime
