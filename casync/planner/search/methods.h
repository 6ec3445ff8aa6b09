// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "casync/planner/search/merging.h"
#include "casync/planner/search/request.h"

namespace casync {

/// A published way to schedule uncompressed gradients, simulated by its own rules, and the plan that says it.
struct PublishedMethod {
  std::string id;      ///< "mg_wfbp", "best_groups" or "bytescheduler"
  std::string name;    ///< "MG-WFBP's groups, ring"
  double step_s = 0;   ///< predicted
  std::string detail;  ///< "12 groups of 75 gradients"
  Plan plan = {};      ///< for the request's ranks; of which a simulation is the same
};

/// MG-WFBP's groups and the best groups of neighbours (merging.h), each sent as one gradient, and ByteScheduler with
/// the credit and the size of partitions that best_credit() finds; each over `ps` and over `ring`, where these carry
/// the gradients as they are. They have the request's mode, and not its codecs and rules. None for one rank or
/// without gradients. If that is too many tasks to simulate, one rank stands for all with the groups, unless nodes
/// differ; the credit is left out. Errors as simulate().
Result<std::vector<PublishedMethod>> published_methods(const PlanRequest& request);

/// The rule by which gradients that are ready one after the other are merged (merging.h).
enum class Merging { kMgWfbp, kBest };

/// Groups of gradients: gradients in the order in which they are ready, and the groups' first positions there.
struct MergedGradients {
  std::vector<std::size_t> order;   ///< positions in training.gradients
  std::vector<std::size_t> groups;  ///< positions in `order`
};
/// The channel's cost is that of `strategy` for an uncompressed gradient alone, with a partition for each rank: startup
/// is what the smallest takes. Gradients of different types do not join. Errors as outline_of.
Result<MergedGradients> merged_gradients(const PlanRequest& request, StrategyKind strategy, Merging rule);

/// The training in which each group is one gradient: ready with its last one, needed with its first one. Groups of
/// several are named as in the method's plan, because names decide which rank owns what.
Training merged_training(const Training& training, const MergedGradients& merged);

/// ByteScheduler's two numbers (Peng et al. 2019), and the step that they give.
struct CreditSetting {
  Bytes partition_bytes = 0, credit_bytes = 0;
  double step_s = 0;
};
/// The sizes of partitions, the largest first, and the credits, in partitions, that best_credit() tries.
std::span<const Bytes> credit_partition_bytes();
std::span<const int> credit_partitions();
/// Simulates all of these pairs, the most urgent gradient first and nothing fused, and returns the one with the least
/// step; of equal steps the larger partitions, then the smaller credit. Smaller partitions are left out once the
/// simulated tasks are too many; nothing if the largest are. Errors as simulate().
Result<std::optional<CreditSetting>> best_credit(const PlanRequest& request, StrategyKind strategy);

}  // namespace casync
