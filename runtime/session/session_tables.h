// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "casync/model/plan.h"
#include "runtime/device/device.h"
#include "runtime/session/current_step.h"
#include "runtime/session/gradient_table.h"
#include "runtime/session/session.h"
#include "runtime/session/submissions.h"

namespace casync::runtime {

/// The step of a session, its gradients and their submissions. The mutex is the session's: a thread that has it does
/// not wait for another rank.
struct SessionTables {
  /// Borrows both.
  SessionTables(const SyncMode& mode, const Device& device) : step(mode), submissions(step, gradients, device) {}

  /// The run of a handle's gradient; null if not every rank has declared it. InvalidArgument: no submission gave it.
  Result<GradientRun*> run_of(Handle handle) const;
  /// The keys of gradients of the step under way that have their result.
  std::vector<std::uint64_t> completed() const;

  /// Returns true if all gradients of the step under way have their results.
  bool is_complete() const;
  /// The result of the step under way, which is complete.
  StepResult result() const;

  mutable std::mutex mutex;  ///< guards the rest
  CurrentStep step;
  GradientTable gradients;
  Submissions submissions;
};

}  // namespace casync::runtime
