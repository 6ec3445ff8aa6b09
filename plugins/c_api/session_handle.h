// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "base/clock.h"
#include "plugins/c_api/casync.h"
#include "plugins/c_api/error.h"
#include "runtime/control/wire/fd.h"
#include "runtime/session/completions.h"
#include "runtime/session/session.h"

/// The object that a casync_session* points to.
struct casync_session {
  ~casync_session() {
    // Completions that are still pending are called with the closed session's failure.
    if (completions && generation == casync::runtime::fork_generation()) static_cast<void>(session->close());
  }

  std::unique_ptr<casync::runtime::Session> session;
  std::unique_ptr<casync::runtime::Completions> completions;       ///< with the session; destroyed first
  const unsigned generation = casync::runtime::fork_generation();  ///< of the process it was opened in
  double timeout_s = 0;                      ///< the session's limit, also of waits for completions
  casync::Clock::time_point close_deadline;  ///< once it is closed: of the wait for completions
  std::atomic<bool> closed{false};
  std::uint64_t steps_left = 0;  ///< CASYNC_STEPS; 0: no limit

  // State is handed over piece by piece: taken as one when it is read, loaded as one when all of it is there.
  std::mutex state_mutex;
  std::optional<casync::runtime::SessionState> taken;
  bool taken_for_length = false;  ///< by a call whose buffer was too short for the JSON
  std::optional<casync::runtime::SessionState> arriving;
  std::set<std::string> awaited;  ///< gradients of `arriving` that have not been given
};

namespace casync::c_api {

/// InvalidArgument: no session. Unavailable: this is a fork of the process that opened it, whose locks may be held for
/// ever here. Aborted: closed already.
inline Status check_open(const casync_session* session) {
  CASYNC_RETURN_IF_ERROR(need(session, "session"));
  if (session->generation != runtime::fork_generation()) {
    return unavailable("this process is a fork of the one whose session this is: open sessions after forking");
  }
  return session->closed ? aborted("the session is closed") : Status::ok();
}

}  // namespace casync::c_api
