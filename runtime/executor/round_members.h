// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "runtime/executor/gradient_run.h"

namespace casync::runtime {

/// The gradients of a bucket, and those that were submitted in this step.
///
/// Threads: the progress thread.
class RoundMembers {
 public:
  /// `runs`: in the bucket's order.
  explicit RoundMembers(std::span<GradientRun* const> runs) : runs_(runs.begin(), runs.end()), is_taken_(runs.size()) {}

  const std::vector<GradientRun*>& runs() const { return runs_; }
  /// A gradient was submitted: once in a step.
  void take(const GradientRun& run);
  /// All of them were.
  bool is_whole() const { return taken_ == runs_.size(); }
  /// The first one that was not; null: all were.
  const GradientRun* first_missing() const;
  /// Forgets the step.
  void reset();

 private:
  const std::vector<GradientRun*> runs_;
  std::vector<bool> is_taken_;
  std::size_t taken_ = 0;
};

}  // namespace casync::runtime
