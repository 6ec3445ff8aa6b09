// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "casync/model/plan.h"
#include "runtime/session/device_sampler.h"
#include "runtime/session/gradient_sampler.h"
#include "runtime/session/session.h"
#include "runtime/session/step_moments.h"

namespace casync::runtime {

/// The record of a run with groups (SessionOptions::record_directory): when the members are ready and needed, and
/// samples of them. Calls come one at a time.
class RunRecord {
 public:
  /// `directory`: of the files. `device`: the session's. In a mode that exchanges something else than each step's
  /// gradients there are samples only.
  RunRecord(std::string directory, int ranks, const SyncMode& mode, Device& device);

  /// A gradient gets the next number. Unavailable: as DeviceSampler.
  Status declared(const GradientSpec& gradient);
  /// Gradients by their numbers. The program stands still until goes_on().
  void submitted(std::span<const Submission> submissions);
  /// Samples one of them, of `step`, before anything has been reduced, if the values that the step exchanges are those
  /// that the plan's codecs encode. On a device `submission` gets the stream behind which its memory may change.
  /// Unavailable: as DeviceSampler.
  Status sample(Submission& submission, Exchanged exchanged, std::uint32_t step);
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
  const std::unique_ptr<StepMoments> moments_;  ///< null: no model is recorded
  GradientSampler sampler_;
  std::optional<DeviceSampler> device_sampler_;  ///< of sampler_, on a device
  std::vector<GradientSpec> gradients_;
};

}  // namespace casync::runtime
