// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "casync/simulator/engine/virtual_clock.h"
#include "casync/simulator/engine/work.h"

namespace casync::engine {

/// The training that each rank's processors do, at a rate that changes with their codec tasks and messages
/// (Processors::training_rate).
class TrainingWork {
 public:
  TrainingWork(VirtualClock& clock, std::size_t ranks) : clock_(clock), ranks_(ranks, Work(Event::Kind::kTraining)) {}

  /// Training goes on for so many seconds at rate 1.
  void start(Rank rank, double seconds, double rate) { of(rank).start(clock_, rank, seconds, rate); }
  void change_rate(Rank rank, double rate) { of(rank).change_rate(clock_, rank, rate); }
  void stop(Rank rank) { of(rank).stop(); }
  bool ends_with(const Event& event) const { return ranks_[event.subject].ends_with(event); }
  bool running(Rank rank) const { return ranks_[static_cast<std::size_t>(rank)].running(); }

 private:
  Work& of(Rank rank) { return ranks_[static_cast<std::size_t>(rank)]; }

  VirtualClock& clock_;
  std::vector<Work> ranks_;
};

}  // namespace casync::engine
