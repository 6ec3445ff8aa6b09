// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <functional>
#include <string>
#include <utility>

#include "runtime/control/wire/connection.h"
#include "runtime/control/wire/identity.h"

namespace casync::runtime::testing {

/// A process that has said something over a connection, and has ended. It is there, unreaped, as long as this object.
/// The connection's socket is one of messages: a read takes 16 of them.
class EndedProcess {
 public:
  /// `in` and `out`: the keys of its end.
  EndedProcess(const std::string& in, const std::string& out, const std::function<void(Connection&)>& say) {
    std::array<int, 2> fds{};
    REQUIRE(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds.data()) == 0);
    pid_ = fork();
    if (pid_ == 0) {
      Connection end(Fd(fds[0]), in, out, Clock::now());
      say(end);
      _exit(end.has_output() ? 1 : 0);
    }
    close(fds[0]);
    end_ = Fd(fds[1]);
    siginfo_t ended = {};
    REQUIRE(waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED | WNOWAIT) == 0);
    CHECK(ended.si_status == 0);
  }
  ~EndedProcess() { CHECK(waitpid(pid_, nullptr, 0) == pid_); }
  EndedProcess(const EndedProcess&) = delete;
  EndedProcess& operator=(const EndedProcess&) = delete;

  /// The other end. Once.
  Fd take_end() { return std::move(end_); }
  /// The identity of that process as a rank.
  Identity as(Rank rank, int ranks) const {
    Identity who = own_identity(rank, ranks);
    who.pid = pid_;
    who.started = start_of_process(pid_);
    return who;
  }

 private:
  pid_t pid_ = -1;
  Fd end_;
};

}  // namespace casync::runtime::testing
