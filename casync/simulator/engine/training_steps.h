// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.h"

namespace casync::engine {

struct Engine;

/// The training that synchronization runs with: it makes gradients, and stops where one is missing.
class TrainingSteps {
 public:
  explicit TrainingSteps(Engine& engine);

  /// All ranks begin their first step.
  void begin();
  /// A rank's training comes to its next milestone.
  void pass(Rank rank);
  /// A result is there: training that stands still for it goes on.
  void look_again(Rank rank);
  int step_of(Rank rank) const { return ranks_[static_cast<std::size_t>(rank)].step; }
  /// Returns true if every rank has ended its last step.
  bool all_done() const { return ranks_done_ == ranks_.size(); }

 private:
  /// A point that training passes: a gradient is ready, the backward pass ends, a gradient is needed, the step ends.
  struct Milestone {
    enum class Kind : std::uint8_t { kReady, kBackwardEnd, kNeed, kStepEnd };
    double position = 0;  ///< seconds of training since the step began
    Kind kind{};
    std::uint32_t gradient = 0;
  };
  struct OfRank {
    std::size_t milestone = 0;  ///< the next one
    int step = 0;
    std::uint32_t submitted = 0;  ///< gradients of this step
    double factor = 1;            ///< of training in this step
    double step_began = 0, pass_began = 0, blocked_since = 0;
    bool blocked = false;
  };

  static std::vector<Milestone> milestones_of(const Engine& engine);
  void begin_step(Rank rank);
  void go_on(Rank rank);
  void submit(Rank rank, std::uint32_t gradient);
  bool is_missing(Rank rank, std::uint32_t gradient) const;
  void end_step(Rank rank);
  /// The factor of training in `step`, which is all steps from one exchange to the next.
  double factor_of(Rank rank, int step) const;
  OfRank& of(Rank rank) { return ranks_[static_cast<std::size_t>(rank)]; }

  Engine& engine_;
  const std::vector<Milestone> milestones_;
  std::vector<OfRank> ranks_;
  std::size_t ranks_done_ = 0;
};

}  // namespace casync::engine
