// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <list>
#include <string>
#include <vector>

#include "base/status.h"
#include "runtime/control/wire/connection.h"
#include "runtime/control/wire/handshake.h"
#include "runtime/control/wire/poll_set.h"
#include "runtime/control/wire/strangers.h"

namespace casync::runtime {

/// So many callers are half in at a time; the others wait in the listener's queue.
inline constexpr std::size_t kMostCallers = 128;

/// Rank 0's way in: listens, lets each caller prove itself, and hands the proven ones on. Open while the job
/// runs, so that a late or stray rank is told why it cannot come in. Never blocks. One thread.
class Door {
 public:
  /// Decides about a caller that holds the token.
  using Judge = std::function<Verdict(const Hello&)>;
  /// Takes a caller that was welcomed.
  using Admit = std::function<void(const Identity&, Connection)>;

  Door(std::vector<Fd> listeners, Identity self, std::string token, Seconds dead)
      : listeners_(std::move(listeners)), self_(std::move(self)), token_(std::move(token)), dead_(dead) {}

  /// Comes first. From then on the door stays where it is, and `set` outlives it.
  void attach(PollSet& set, Judge judge, Admit admit);
  /// Sends away callers that take too long; returns when to be called next.
  Clock::time_point tend(Clock::time_point now);
  /// No more callers; those half in are sent away.
  void close();
  /// The addresses it listens on.
  std::vector<std::string> addresses() const;
  std::string refused_summary() const { return strangers_.summary(); }

 private:
  /// A caller that has not proven itself. It can make us hold one packet and one socket.
  struct Caller {
    Fd fd;
    std::string source;
    Clock::time_point came;
    PacketReader packets;
    HubHandshake handshake;
    bool challenged = false;
    Watch watch = {};  // last: it ends ahead of the descriptor
  };
  using Callers = std::list<Caller>;

  void listen();
  Clock::time_point open_from() const;
  void accept_some(int listener);
  void let_in(Fd fd);
  void put_off_oldest();
  void advance(int fd);
  void advance(Callers::iterator caller);
  Status step(Caller& caller, const std::string& packet, bool* done);
  void refuse(Callers::iterator caller, const std::string& why);

  std::vector<Fd> listeners_;
  Identity self_;
  std::string token_;
  Seconds dead_;
  PollSet* set_ = nullptr;
  Judge judge_;
  Admit admit_;
  std::vector<Watch> listening_;  // empty while nobody is let in
  Callers callers_;               // oldest first
  Clock::time_point pause_until_{};
  Strangers strangers_;
};

}  // namespace casync::runtime
