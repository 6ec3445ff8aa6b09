// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "casync/simulator/one_rank/clock.h"
#include "casync/simulator/one_rank/codec_stages.h"
#include "casync/simulator/one_rank/messages.h"
#include "casync/simulator/one_rank/ports.h"
#include "casync/simulator/one_rank/record.h"
#include "casync/simulator/one_rank/stages.h"
#include "casync/simulator/one_rank/training_pass.h"
#include "casync/simulator/simulate.h"

namespace casync {

/// One step of one rank, from outlines, for ranks that are all alike: a few thousand events where the simulator has
/// millions. Training, codec and ports as in engine::Engine, but messages go in lumps: where one processor has codecs
/// and messages to do, a lump waits for one codec task, and each of its messages would. Reuses its memory from run to
/// run. Its parts have a subject each.
class OneRank {
 public:
  /// Borrows both. Their numbers have been checked.
  OneRank(const Training& training, const Profile& profile);
  OneRank(const OneRank&) = delete;
  OneRank& operator=(const OneRank&) = delete;

  /// Outlines are by position in training.gradients; one without stages is over at once. A rank sends as much as it
  /// receives.
  Simulation run(std::span<const Outline* const> outlines, std::span<const int> priorities, Bytes fusion_bytes);
  /// The same without anything but the step's seconds.
  double step_seconds(std::span<const Outline* const> outlines, std::span<const int> priorities, Bytes fusion_bytes);

  /// Returns true if a thread does both codec and messages.
  bool one_thread() const { return profile.processors == 1; }
  /// Returns true if messages take processor time.
  bool messages_work() const { return messages_work_; }

  const Profile& profile;
  one_rank::Clock clock;
  one_rank::Record record;
  one_rank::Stages stages{*this};
  one_rank::TrainingPass training;
  one_rank::CodecStages codec{*this};
  one_rank::Messages messages{*this};
  one_rank::Ports ports{*this};

 private:
  void happen(const Event& event);

  const Training& trained_;
  bool messages_work_ = false;
};

/// The simulation of ranks that are alike, by one of them. Where partitions are as many as ranks, or more, all ranks do
/// the same at the same time and the result is nearly the simulator's; else owners are spread over ranks in the mean.
/// InvalidArgument: ranks that are not alike, steps, slowness, jitter or spans asked for; else as simulate().
Result<Simulation> simulate_one_rank(const Scenario& scenario, const SimulationOptions& options);

}  // namespace casync
