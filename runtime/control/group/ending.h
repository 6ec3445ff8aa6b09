// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <utility>

#include "base/clock.h"
#include "runtime/control/group/messages.h"

namespace casync::runtime {

/// The end of a job at rank 0: its cause, the ranks that know it, and the moment to report it. Plain data.
class Ending {
 public:
  explicit Ending(int ranks) : ranks_(ranks) {}

  /// The job is over. It is reported once all ranks know the cause, at `report_at` at the latest.
  void begin(Abort abort, Clock::time_point report_at) {
    abort_ = std::move(abort);
    report_at_ = report_at;
  }
  bool has_begun() const { return abort_.has_value(); }
  /// Once it has begun.
  const Abort& abort() const { return *abort_; }

  /// The rank knows the cause, or is about to hear it. Rank 0, and numbers that are no rank of the job, do not count.
  void told(Rank rank) {
    if (rank > 0 && rank < ranks_) told_.insert(rank);
  }
  /// When the end is to be reported at the latest; max: it has not begun, or was reported.
  Clock::time_point report_at() const { return report_at_; }
  bool is_due(Clock::time_point now) const {
    const bool all_know = static_cast<int>(told_.size()) + 1 >= ranks_;
    return report_at_ != Clock::time_point::max() && (now >= report_at_ || all_know);
  }
  void reported() { report_at_ = Clock::time_point::max(); }

 private:
  int ranks_;
  std::optional<Abort> abort_;
  std::set<Rank> told_;
  Clock::time_point report_at_ = Clock::time_point::max();
};

}  // namespace casync::runtime
