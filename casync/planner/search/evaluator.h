// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <string>

#include "casync/planner/search/request.h"
#include "casync/simulator/one_rank.h"
#include "casync/simulator/outline.h"
#include "casync/simulator/sync_mode.h"

namespace casync {

/// A decision for gradients of one size and type, with what it costs.
struct Option {
  Decision decision;
  Outline outline;
  double more_steps = 0;  ///< additional steps to the same loss, as a share, if one gradient of this size is decided so
};

/// The simulator, asked often: outlines are made once for each decision and size, codecs looked up once.
class Evaluator {
 public:
  /// Borrows the request.
  explicit Evaluator(const PlanRequest& request);

  /// The cost of `decision` for gradient `at`; shared by all of its size and type, valid as long as this object. The
  /// priority is ignored. Errors as hop_costs.
  Result<const Option*> option(std::size_t at, const Decision& decision);

  /// Number of steps to the same loss as a multiple of those without compression: 1 plus the shares of all gradients,
  /// which add up by their elements.
  double steps(std::span<const Option* const> options) const;
  double steps(const PlannedStep& step) const;

  /// Seconds of a step, simulated with one rank that stands for all.
  double quick(std::span<const Option* const> options, std::span<const int> priorities, Bytes fusion_bytes);
  Simulation quick_simulation(std::span<const Option* const> options, std::span<const int> priorities,
                              Bytes fusion_bytes);

  /// The simulation by which plans are compared at the end: of all ranks, or of one that stands for all.
  Result<Simulation> judge(const PlannedStep& step, bool all_ranks);
  std::uint64_t evaluations() const { return evaluations_; }
  const PlanRequest& request() const { return request_; }
  Result<CodecFacts> facts(const CodecChoice& choice);
  /// The limits that the planner has for gradient `at`.
  const Limits& limits(std::size_t at) const { return request_.limits.empty() ? no_limits_ : request_.limits[at]; }
  /// Equal for gradients that every decision costs the same: of one size and type, all scattered or none, within the
  /// same limits and, where a codec may be used that exchanges, of one shape.
  std::string kind_of(std::size_t at);

 private:
  std::string merged_again(std::size_t at);
  double more_steps(std::size_t at, const Decision& decision) const;
  Result<const Option*> option_of_rounds(std::size_t at, const Decision& decision, const std::string& key);
  const Outline* const* outlines_of(std::span<const Option* const> options);

  const PlanRequest& request_;
  AlikeRanks ranks_;
  const Exchanges exchanges_;
  OneRank rank_;
  std::map<std::string, Result<CodecFacts>> facts_;
  std::map<std::string, HopCosts> costs_;
  std::map<std::string, std::unique_ptr<Option>> options_;
  std::vector<const Outline*> outlines_;
  double elements_ = 0;  ///< of all gradients
  bool shapes_count_ = false;
  bool losses_differ_ = false;  ///< recorded gradients have each their own
  Limits no_limits_;
  std::vector<std::size_t> limits_alike_;  ///< by gradient: the first with the same limits
  std::uint64_t evaluations_ = 0;
};

/// A lower bound of the tasks that `step` makes on all ranks.
std::uint64_t tasks_of(const PlannedStep& step, int ranks);

}  // namespace casync
