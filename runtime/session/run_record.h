// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "casync/model/plan.h"
#include "runtime/session/gradient_sampler.h"
#include "runtime/session/program_clock.h"
#include "runtime/session/recorder.h"
#include "runtime/session/session.h"

namespace casync::runtime {

/// The record of a run with groups (SessionOptions::record_directory): when the members are ready and needed, and
/// samples of them. Calls come one at a time.
class RunRecord {
 public:
  /// `directory`: of the files. In a mode that exchanges something else than each step's gradients there are samples
  /// only.
  RunRecord(std::string directory, int ranks, const SyncMode& mode);

  /// A gradient gets the next number.
  void declared(const GradientSpec& gradient) { gradients_.push_back(gradient); }
  /// Gradients of `step`, by their numbers, before anything has been reduced. The program stands still until
  /// goes_on().
  void submitted(std::span<const Submission> submissions, std::uint32_t step);
  void needs(std::size_t gradient);
  /// It waits for one until goes_on().
  void waits(std::size_t gradient);
  void goes_on();
  void computed();
  void step_ended();
  /// Writes what there is.
  void write();

 private:
  const std::string directory_;
  const int ranks_;
  const SyncMode mode_;
  ProgramClock clock_;
  std::optional<Recorder> recorder_;
  GradientSampler sampler_;
  std::vector<GradientSpec> gradients_;
};

}  // namespace casync::runtime
