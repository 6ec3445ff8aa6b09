// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>

#include "casync/graph/answer_batches.h"

namespace casync::runtime {

class GradientRun;

/// The part of a gradient's run that only asynchronous ranks have: this rank's own step asks owners, who answer it. It
/// keeps what its encodes leave, whatever the answers are.
///
/// Threads: fixed once built, but for the step under way: that is the progress thread's.
class AsynchronousStep {
 public:
  /// `asks_owners`: this rank is a dedicated server, whose step contributes nothing.
  explicit AsynchronousStep(bool asks_owners);
  ~AsynchronousStep();
  AsynchronousStep(const AsynchronousStep&) = delete;
  AsynchronousStep& operator=(const AsynchronousStep&) = delete;

  bool asks_owners() const { return asks_owners_; }
  /// This rank owns partitions. Their side is never under way as a step.
  void own(std::unique_ptr<GradientRun> side);
  /// Null: it owns none.
  GradientRun* owner_side() const { return owner_side_.get(); }

  /// A step begins, and no owner has said anything.
  void begin() { waits_behind_.reset(); }
  /// An owner says what its answer waits for.
  void note_wait(const AnswerBatches::Wait& wait) { waits_behind_ = wait; }
  /// The last such word in the step; null: there is none.
  const AnswerBatches::Wait* waits_behind() const { return waits_behind_ ? &*waits_behind_ : nullptr; }

 private:
  const bool asks_owners_;
  std::unique_ptr<GradientRun> owner_side_;
  std::optional<AnswerBatches::Wait> waits_behind_;
};

}  // namespace casync::runtime
