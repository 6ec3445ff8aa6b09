// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "casync/simulator/one_rank/clock.h"
#include "casync/simulator/training.h"

namespace casync {
class OneRank;
}

namespace casync::one_rank {

/// The training of the step: it makes gradients, and stops where one is missing.
class TrainingPass {
 public:
  /// Borrows both.
  TrainingPass(OneRank& rank, const Training& training);

  void reset();
  /// Goes on to the next milestone.
  void go_on();
  /// It comes to its next milestone.
  void pass(const Event& event);
  /// A gradient is over.
  void finish(std::uint32_t gradient);
  bool is_running() const { return work_.running(); }
  /// Goes on at the rate that codec and messages leave it.
  void adjust();

 private:
  enum class Kind : std::uint8_t { kReady, kBackwardEnd, kNeed, kStepEnd };
  struct Milestone {
    double position = 0;
    Kind kind{};
    std::uint32_t gradient = 0;
  };

  double rate() const;

  OneRank& rank_;
  std::vector<Milestone> milestones_;
  std::size_t milestone_ = 0;  // the next one
  Work work_{Event::Kind::kTraining};
  bool blocked_ = false;
  double blocked_since_ = 0;
  std::vector<std::uint8_t> active_;  // by gradient
};

}  // namespace casync::one_rank
