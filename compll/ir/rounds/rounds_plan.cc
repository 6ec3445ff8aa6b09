// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/rounds/rounds_plan.h"

#include <algorithm>
#include <map>
#include <set>

#include "compll/lang/terms.h"

namespace casync::compll {
namespace {

bool has_n_elements(const Type& type) { return type.extent && type.extent->kind == Extent::Kind::kElements; }

class Planner {
 public:
  explicit Planner(const Program& program) : routine_(*program.synchronize), rounds_(program.rounds) {
    std::size_t turn = 0;
    for (std::size_t i = 0; i < routine_.steps.size(); ++i) {
      const Step& step = routine_.steps[i];
      if (step.value->op == Op::kExchange) {
        plan_.exchanged.push_back(step.variables.front());
        given_.push_back(step.value->arguments.front().get());
        ++turn;
      }
      for (const VariableId id : step.variables) made_by_[id] = i;
      turn_of_.push_back(turn);
    }
  }

  RoundsPlan run() {
    plan_.turns.resize(rounds_ + 1);
    // Plans turns from the last to the first: a turn's needs of earlier turns have to be known there.
    for (std::size_t turn = rounds_ + 1; turn-- > 0;) plan_turn(turn);
    for (const VariableId id : stored_) {
      plan_.stored.push_back(id);
      plan_.stored_in.push_back(turn_of_[made_by_.at(id)]);
    }
    return std::move(plan_);
  }

 private:
  void plan_turn(std::size_t turn) {
    std::set<VariableId> wanted;
    const Term& given = turn < rounds_ ? *given_[turn] : *routine_.result;
    want(given, wanted);
    if (turn == rounds_) wanted.insert(routine_.states_then.begin(), routine_.states_then.end());
    for (const VariableId id : stored_) {
      if (turn_of_[made_by_.at(id)] == turn) wanted.insert(id);
    }
    TurnPlan& plan = plan_.turns[turn];
    plan.given = &given;
    for (std::size_t i = routine_.steps.size(); i-- > 0;) {
      const Step& step = routine_.steps[i];
      if (step.value->op == Op::kExchange || turn_of_[i] > turn) continue;
      bool computes = false;
      for (const VariableId id : step.variables) {
        if (wanted.count(id) == 0) continue;
        if (turn_of_[i] < turn && !is_cheap(*step.value)) {
          stored_.insert(id);
        } else {
          computes = true;
        }
      }
      if (!computes) continue;
      want(*step.value, wanted);
      plan.steps.push_back(&step);
    }
    std::reverse(plan.steps.begin(), plan.steps.end());
  }

  static void want(const Term& term, std::set<VariableId>& wanted) {
    for_each_term(term, [&](const Term& each) {
      if (each.op == Op::kVariable) wanted.insert(each.variable);
    });
  }

  /// Returns true if computing it again costs no more than keeping it.
  bool is_cheap(const Term& term) const {
    if (term.op == Op::kVariable || term.op == Op::kRange) return true;
    if (term.op == Op::kMatmul) return term.form == MatmulForm::kOuter;
    if (term.op != Op::kMap || !has_n_elements(term.type())) return !term.type().is_array() && is_leaf(term);
    bool cheap = term.arguments.size() == 1 && term.arguments.front()->op == Op::kVariable &&
                 made_by_.count(term.arguments.front()->variable) == 0;
    for_each_term(*term.function, [&](const Term& each) { cheap &= !is_random(each) && each.op != Op::kElement; });
    return cheap;
  }
  static bool is_leaf(const Term& term) {
    return term.op == Op::kConstant || term.op == Op::kParameter || term.op == Op::kSize || term.op == Op::kRows ||
           term.op == Op::kColumns;
  }

  const Routine& routine_;
  std::size_t rounds_;
  RoundsPlan plan_;
  std::vector<const Term*> given_;             ///< the operand of each exchange
  std::map<VariableId, std::size_t> made_by_;  ///< the step that makes a variable
  std::vector<std::size_t> turn_of_;           ///< the turn of each step
  std::set<VariableId> stored_;
};

}  // namespace

RoundsPlan plan_rounds(const Program& program) { return Planner(program).run(); }

}  // namespace casync::compll
