// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "casync/model/gradient.h"
#include "casync/model/plan.h"
#include "runtime/session/device_sampler.h"
#include "runtime/session/gradient_sampler.h"
#include "runtime/session/rank_paces.h"
#include "runtime/session/session.h"
#include "runtime/session/step_moments.h"

namespace casync::runtime {

/// The ranks of a recorded run.
struct RecordedRanks {
  int count = 1;
  double of_each_processor = 1;  ///< ranks that compete for it, where this one runs
};

/// The record of a run: when the program's gradients are ready and needed, and samples of them. It becomes files
/// (SessionOptions::record_directory), and serves the comparison with a plan's prediction. Gradients have numbers.
/// Calls come one at a time.
class RunRecord {
 public:
  /// `directory`: of the files; "": there are none. `device`: the session's. In a mode that exchanges something else
  /// than each step's gradients the files are samples only.
  RunRecord(std::string directory, const RecordedRanks& ranks, const SyncMode& mode, bool is_watched, Device& device);

  /// A gradient gets the next number. Unavailable: as DeviceSampler.
  Status declared(const GradientSpec& gradient);
  /// Gradients by their numbers.
  void submitted(std::span<const Submission> submissions);
  /// Returns true if a step that exchanges these has what the plan's codecs encode, which is sampled.
  bool samples(Exchanged exchanged) const;
  /// Samples one gradient in such a step, ahead of any reduction. On a device `submission` gets the stream
  /// behind which its memory may change. Unavailable: as DeviceSampler; on the host it does not fail.
  Status sample(Submission& submission, std::uint32_t step);

  void needs(std::size_t gradient);
  /// The program waits for one until goes_on(). Returns false if nobody needs to know when it goes on.
  bool waits(std::size_t gradient);
  /// It stands still for another reason, until goes_on().
  void stands_still();
  void goes_on();
  void computed();
  void step_ended();

  /// The program's seconds in the last step, without the time it stood still. While somebody watches.
  double program_seconds_of_last_step() const { return moments_->recorder().program_seconds_of_last_step(); }
  /// Nobody watches any more.
  void end_watch();
  /// The program's pace until now; nothing: no step has ended, or no moments are taken.
  std::optional<Pace> pace() const;
  /// Writes what there is, with the ranks that differ from this one: `others` as RankPaces has them.
  void write(const std::map<Rank, std::optional<Pace>>& others);

 private:
  bool has_model() const { return !directory_.empty() && mode_ == SyncMode{}; }

  const std::string directory_;
  const int ranks_;
  const SyncMode mode_;
  std::unique_ptr<StepMoments> moments_;  ///< null: nobody uses them
  std::optional<GradientSampler> sampler_;
  std::optional<DeviceSampler> device_sampler_;  ///< of sampler_, on a device
  std::vector<GradientSpec> gradients_;
};

/// The record of a rank beside rank 0: of its pace. Null where no model is recorded.
std::unique_ptr<RunRecord> record_of_pace(const RecordedRanks& ranks, const SyncMode& mode, Device& device);

}  // namespace casync::runtime
