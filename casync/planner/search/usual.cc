// SPDX-License-Identifier: Apache-2.0
#include "casync/planner/search/usual.h"

#include <utility>

#include "casync/planner/decide.h"
#include "casync/planner/search/payload_bits.h"

namespace casync {
namespace {

class Usual {
 public:
  Usual(Evaluator& evaluator, bool all_ranks, PlannedStep& step, Simulation& simulation)
      : evaluator_(evaluator), all_ranks_(all_ranks), step_(step), simulation_(simulation) {}

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
      step.decisions[g].partitions = usual_partitions(evaluator_, g, step.decisions[g]);
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

  Evaluator& evaluator_;
  const bool all_ranks_;
  PlannedStep& step_;
  Simulation& simulation_;
};

}  // namespace

int usual_partitions(Evaluator& evaluator, std::size_t at, const Decision& decision) {
  const PlanRequest& request = evaluator.request();
  return default_partitions(decision, request.training.gradients[at].spec, request.topology.ranks,
                            payload_bits([&](const CodecChoice& choice) { return evaluator.facts(choice); }));
}

Status prefer_usual(Evaluator& evaluator, bool all_ranks, PlannedStep& step, Simulation& simulation) {
  return Usual(evaluator, all_ranks, step, simulation).prefer_all();
}

}  // namespace casync
