// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <string>
#include <utility>

#include "base/status.h"
#include "runtime/session/session.h"

namespace casync::runtime {

/// The failure that ends a session whose results come late. The thread that reduces may meet it first; the program
/// knows it once a call has returned it, and close() need not say it again.
class LateFailure {
 public:
  /// Borrows the session that is wrapped.
  explicit LateFailure(Session& session) : session_(session) {}

  // Under the session's lock, which the caller notifies.
  /// The thread has ended with `failure`.
  void note(Status failure) { noted_ = std::move(failure); }
  bool is_noted() const { return !noted_.is_ok(); }
  const Status& noted() const { return noted_; }
  /// The same for the program, which knows it then.
  const Status& tell_noted();

  // Any thread.
  /// Returns `status`, from which the program knows of a failure.
  Status tell(Status status);
  /// Ends the job with the program's reason.
  void abort(const std::string& reason);
  /// Ends the job: the device has failed. Returns `status`.
  Status end_with(Status status);
  bool is_told() const { return told_; }

 private:
  Session& session_;
  Status noted_;  ///< under the session's lock
  std::atomic<bool> told_{false};
};

}  // namespace casync::runtime
