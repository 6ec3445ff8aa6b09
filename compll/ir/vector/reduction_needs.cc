// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/vector/reduction_needs.h"

#include <algorithm>
#include <optional>
#include <set>

namespace casync::compll {
namespace {

class Needs {
 public:
  explicit Needs(const std::vector<const Step*>& steps) : steps_(steps) {
    for (const Step* step : steps_) {
      if (step->variables.size() == 1 && is_of_parameters(*step->value)) of_parameters_.insert(step->variables.front());
    }
  }

  std::map<const Term*, ParameterCondition> of(const std::vector<const Term*>& terms,
                                               const std::vector<VariableId>& variables) {
    for (const Term* term : terms) visit(*term, {});
    for (const VariableId id : variables) note(variables_, id, {});
    for (std::size_t i = steps_.size(); i-- > 0;) {
      for (const VariableId id : steps_[i]->variables) {
        const auto found = variables_.find(id);
        if (found != variables_.end()) visit(*steps_[i]->value, found->second);
      }
    }
    std::map<const Term*, ParameterCondition> all;
    for (const auto& [term, condition] : reductions_) {
      if (condition) all.emplace(term, *condition);
    }
    return all;
  }

 private:
  using If = std::optional<ParameterCondition>;

  /// Records a use under a condition. A second use under another condition means that the value is always needed.
  template <class Key>
  static void note(std::map<Key, If>& all, const Key& key, const If& condition) {
    const auto [at, is_new] = all.emplace(key, condition);
    if (!is_new && at->second != condition) at->second.reset();
  }

  bool is_of_parameters(const Term& term) const {
    if (term.op == Op::kVariable) return of_parameters_.contains(term.variable);
    const bool computes = term.op == Op::kConstant || term.op == Op::kParameter || is_scalar(term.op);
    return computes && std::all_of(term.arguments.begin(), term.arguments.end(),
                                   [&](const TermPtr& each) { return is_of_parameters(*each); });
  }

  /// The condition's first part that is made of parameters: all parts of an `and` have to hold.
  const Term* condition_in(const Term& term) const {
    if (is_of_parameters(term)) return &term;
    if (term.op != Op::kAnd) return nullptr;
    const Term* first = condition_in(*term.arguments[0]);
    return first != nullptr ? first : condition_in(*term.arguments[1]);
  }

  void visit(const Term& term, const If& condition) {
    if (term.op == Op::kVariable) return note(variables_, term.variable, condition);
    if (term.op == Op::kReduce) note(reductions_, &term, condition);
    const bool chooses = term.op == Op::kSelect || (term.op == Op::kAnd && term.type().element == kBoolType);
    if (chooses && !condition) {
      const Term& by = *term.arguments[0];
      if (const Term* value = condition_in(by); value != nullptr) {
        visit(by, {});
        visit(*term.arguments[1], ParameterCondition{value, true});
        if (term.op == Op::kSelect)
          visit(*term.arguments[2], value == &by ? If(ParameterCondition{value, false}) : If());
        return;
      }
    }
    for (const TermPtr& argument : term.arguments) visit(*argument, condition);
    if (!term.function) return;
    for (const Step& step : term.function->steps) visit(*step.value, condition);
    for (const TermPtr& result : term.function->results) visit(*result, condition);
  }

  const std::vector<const Step*>& steps_;
  std::set<VariableId> of_parameters_;
  std::map<VariableId, If> variables_;
  std::map<const Term*, If> reductions_;
};

}  // namespace

std::map<const Term*, ParameterCondition> reductions_needed_if(const std::vector<const Step*>& steps,
                                                               const std::vector<const Term*>& terms,
                                                               const std::vector<VariableId>& variables) {
  return Needs(steps).of(terms, variables);
}

}  // namespace casync::compll
