// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <utility>

#include "runtime/control/wire/fd.h"
#include "runtime/session/session.h"
#include "runtime/session/session_lock.h"

namespace casync::runtime {

/// A session that does its work through another one, under handles of its own: the part that does not depend on what it
/// adds.
class WrappingSession : public Session {
 public:
  Rank rank() const override { return session_->rank(); }
  int ranks() const override { return session_->ranks(); }
  const Topology& topology() const override { return session_->topology(); }
  Exchanged exchanged() const override { return session_->exchanged(); }
  void nudge() override;
  Status failure() const override { return session_->failure(); }
  bool holds_memory() const override { return session_->holds_memory(); }

 protected:
  explicit WrappingSession(std::unique_ptr<Session> session) : session_(std::move(session)) {}

  /// True in a child of the process that opened the session: the threads do not exist there.
  bool forked() const { return fork_generation() != generation_; }

  const std::unique_ptr<Session> session_;
  mutable SessionLock lock_;

 private:
  const unsigned generation_ = fork_generation();
};

/// Ends the job of a wrapped session whose device has failed. Returns `status`.
Status end_with(Session& session, Status status);

/// Timeout: a device still copies the result of this submission.
Status on_its_way(const GradientSpec& gradient, Handle handle);

/// Calls `ended(i)` for each place of `inner`, handles of the wrapped session, that is among those that wait_any()
/// gave, which keep their order.
template <class Ended>
void for_each_ended(std::span<const Handle> inner, std::span<const Handle> given, const Ended& ended) {
  for (std::size_t i = 0, next = 0; i < inner.size() && next < given.size(); ++i) {
    if (inner[i] != given[next]) continue;
    ++next;
    ended(i);
  }
}

}  // namespace casync::runtime
