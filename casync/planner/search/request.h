// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "casync/model/plan.h"
#include "casync/model/topology.h"
#include "casync/simulator/profile.h"
#include "casync/simulator/simulate.h"
#include "casync/simulator/training.h"

namespace casync {

/// A codec that the planner may use, besides sending gradients uncompressed.
struct CodecOffer {
  CodecChoice choice;
  double error = 0;  ///< ||D(E(x)) - x||^2 / ||x||^2 of typical gradients: orders codecs by precision
  /// The same of recorded gradients, by position in training.gradients; nothing: not recorded. Empty: none is.
  std::vector<std::optional<double>> recorded = {};
  /// The codec may be used for a gradient of which it loses no more than this; unset: whatever it loses.
  std::optional<double> most_error = std::nullopt;

  /// The error for gradient `at`: as recorded, else of typical gradients.
  double error_of(std::size_t at) const { return at < recorded.size() ? recorded[at].value_or(error) : error; }
};

/// The limits that the planner has for one gradient. The planner chooses the fields that are not set.
struct Limits {
  std::optional<CodecChoice> codec;       ///< fixed: only this
  std::optional<CodecChoice> second_hop;  ///< fixed; unset with a fixed codec: the same
  std::vector<std::size_t> offers;        ///< else the positions in PlanRequest::codecs that may be used, ascending
  std::optional<StrategyKind> strategy;
  std::optional<int> partitions;
  std::optional<int> priority;
  std::optional<std::uint32_t> warm_up_steps;             ///< instead of the request's
  std::optional<WarmUpFrom> warm_up_from = std::nullopt;  ///< of a fixed codec
  std::optional<double> max_error = std::nullopt;         ///< largest loss on each hop
  std::optional<Servers> servers = std::nullopt;          ///< fixed, with strategy `ps`; unset: every rank owns some
  std::optional<ResidualMemory> residual_memory = std::nullopt;  ///< written into the plan

  bool operator==(const Limits&) const = default;
};

/// The request for a plan.
struct PlanRequest {
  Topology topology;
  Profile profile;
  Training training;
  CodecFactsOf facts_of;
  std::vector<CodecOffer> codecs;   ///< all that may be used; empty: nothing is compressed
  SyncMode mode;                    ///< written into the plan; steps are predicted for it
  std::uint32_t warm_up_steps = 0;  ///< written into the plan; the steps after them are what is planned
  std::uint64_t seed = 0;           ///< as Plan::seed
  bool coordinated = false;         ///< as Plan::coordinated: written into the plan, and predicted as if it were not
  std::optional<double> max_error;  ///< largest loss of a gradient on each hop, if no limits set it
  std::vector<Limits> limits;       ///< by position in training.gradients; empty: all codecs, and nothing is fixed
  /// Additional steps to the same loss, as a share, if every gradient has this pair of codecs: one above
  /// `most_more_steps` is never chosen, unless the codecs are fixed. The plan with the least product of a step's time
  /// and the number of steps is searched. Empty: the least time of a step.
  std::function<double(const CodecChoice& first, const CodecChoice& second)> more_steps = nullptr;
  double most_more_steps = std::numeric_limits<double>::max();
};

/// The decision for every gradient, by position in training.gradients.
struct PlannedStep {
  std::string name;  ///< "plain, ps", "int8, hierarchical", "planned"
  std::vector<Decision> decisions;
  Bytes fusion_bytes = 0;
};

/// Applies a session's rule for codec `none`: elements that are not float32 are sent in their own precision.
Decision in_own_type(Decision decision, DType dtype);

}  // namespace casync
