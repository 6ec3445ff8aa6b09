// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/status.h"

namespace casync::runtime {

/// The cause by which a member wants the job to end, until the hub has said which rank's was the first. Plain data.
class Proposal {
 public:
  void make(Status cause, Clock::time_point deadline) {
    cause_ = std::move(cause);
    deadline_ = deadline;
  }
  bool is_made() const { return cause_.has_value(); }
  /// Once it is made.
  const Status& cause() const { return *cause_; }
  /// The hub has not answered by then: the cause counts. max: it is not made.
  Clock::time_point deadline() const { return deadline_; }

 private:
  std::optional<Status> cause_;
  Clock::time_point deadline_ = Clock::time_point::max();
};

}  // namespace casync::runtime
