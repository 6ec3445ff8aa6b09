// SPDX-License-Identifier: Apache-2.0
#include "casync/planner/search/usual.h"

#include <utility>

#include "casync/patterns/partition_count.h"
#include "casync/planner/decide.h"

namespace casync {
namespace {

class Usual {
 public:
  Usual(const PlanRequest& request, Evaluator& evaluator, bool all_ranks, PlannedStep& step, Simulation& simulation)
      : request_(request), evaluator_(evaluator), all_ranks_(all_ranks), step_(step), simulation_(simulation) {}

  Status prefer_all() {
    PlannedStep usual = step_;
    usual.fusion_bytes = Plan{}.fusion_bytes;
    if (all_ranks_) {  // one rank that stands for all does not tell strategies apart so finely
      set_strategies(usual);
      CASYNC_RETURN_IF_ERROR(prefer(usual, kNoDifference));
      set_partitions(usual);
      CASYNC_RETURN_IF_ERROR(prefer(usual, kNoDifference));
    }
    usual = step_;
    usual.fusion_bytes = Plan{}.fusion_bytes;
    CASYNC_RETURN_IF_ERROR(prefer(usual, 0));
    usual = step_;
    set_partitions(usual);
    return prefer(std::move(usual), 0);
  }

 private:
  void set_strategies(PlannedStep& step) const {
    for (std::size_t g = 0; g < step.decisions.size(); ++g) {
      if (!evaluator_.limits(g).strategy) step.decisions[g].strategy = Decision{}.strategy;
    }
  }

  void set_partitions(PlannedStep& step) const {
    for (std::size_t g = 0; g < step.decisions.size(); ++g) {
      if (evaluator_.limits(g).partitions) continue;
      const GradientSpec& spec = request_.training.gradients[g].spec;
      step.decisions[g].partitions = usual_partitions(request_, spec, step.decisions[g].servers);
    }
  }

  /// Takes `usual` where its step is longer by no more than `by` of it.
  Status prefer(PlannedStep usual, double by) {
    usual.name = "planned";
    if (usual.fusion_bytes == step_.fusion_bytes && usual.decisions == step_.decisions) return Status::ok();
    Result<Simulation> simulation = evaluator_.judge(usual, all_ranks_);
    if (!simulation) return simulation.status();
    if (simulation->step_s > simulation_.step_s * (1 + by)) return Status::ok();
    step_ = std::move(usual);
    simulation_ = std::move(*simulation);
    return Status::ok();
  }

  const PlanRequest& request_;
  Evaluator& evaluator_;
  const bool all_ranks_;
  PlannedStep& step_;
  Simulation& simulation_;
};

}  // namespace

int usual_partitions(const PlanRequest& request, const GradientSpec& spec, const Servers& servers) {
  const int ranks = request.topology.ranks;
  return choose_partitions(spec.bytes(), ranks, owner_count(servers, ranks), kDefaultPartitionBytes);
}

Status prefer_usual(const PlanRequest& request, Evaluator& evaluator, bool all_ranks, PlannedStep& step,
                    Simulation& simulation) {
  return Usual(request, evaluator, all_ranks, step, simulation).prefer_all();
}

}  // namespace casync
