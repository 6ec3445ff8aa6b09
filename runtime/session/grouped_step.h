// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>

#include "base/status.h"
#include "casync/model/plan.h"
#include "runtime/session/declarations.h"

namespace casync::runtime {

/// The step under way of a session with groups: its number, if it is a consensus, and if its submissions have ended.
/// Under the session's lock, which the caller notifies of the next step.
class GroupedStep {
 public:
  explicit GroupedStep(const SyncMode& mode) : mode_(mode) {}

  std::uint32_t number() const { return number_; }
  /// Returns true if ranks answer each other until all have ended their steps.
  bool is_asynchronous() const { return mode_.is_asynchronous(); }
  /// The values that ranks exchange in it.
  Exchanged exchanged() const { return is_consensus_ ? Exchanged::kParameters : exchanged_in(mode_, number_); }
  /// InvalidArgument: nothing may be submitted in this step.
  Status check_exchange() const {
    return exchanged() == Exchanged::kNothing ? exchanges_nothing(mode_, number_) : Status::ok();
  }
  void begin_consensus() { is_consensus_ = true; }
  /// Nothing more is submitted, it seems. `started`: OK if the groups that this closes have been sent.
  void end_submissions(Status started) {
    has_all_ = true;
    started_ = std::move(started);
  }
  /// Something is submitted all the same.
  void submits() { has_all_ = false; }
  /// Returns true if nothing more is submitted in `step`, the one under way.
  bool has_all_of(std::uint32_t step) const { return has_all_ && number_ == step; }
  /// The argument of end_submissions().
  const Status& started() const { return started_; }

  void end() { go_to(number_ + 1); }
  /// The step under way is `step`, with no submissions.
  void go_to(std::uint32_t step) {
    number_ = step;
    is_consensus_ = has_all_ = false;
    started_ = Status::ok();
  }

 private:
  const SyncMode mode_;
  std::uint32_t number_ = 0;
  bool is_consensus_ = false;
  bool has_all_ = false;  ///< by end_submissions(), as is the next
  Status started_;
};

}  // namespace casync::runtime
