// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/vector/cuda/storage.h"

#include "compll/ir/vector/cuda/places.h"
#include "compll/ir/vector/cuda/uses.h"
#include "compll/lang/terms.h"

namespace casync::compll::cuda_vector {
namespace {

// An array that costs more operations than this, or reads more than one array, is computed once if it is used again.
constexpr std::size_t kCheap = 8;
constexpr std::size_t kArray = 6;       // operations that count for reading another array
constexpr std::size_t kOuterCost = 20;  // operations for an element of a product of a few vectors

class StorageChoice {
 public:
  explicit StorageChoice(Routine& plan) : plan_(plan) {}

  void run() {
    for (const compll::Step* step : plan_.steps) {
      if (uses_of(plan_, *step) != 0 && !is_changed(plan_, *step)) choose(*step);
    }
  }

 private:
  void choose(const compll::Step& step) {
    const Term& term = *step.value;
    for_each_term(term, [&](const Term& each) { note_product(each); });
    const VariableId first = step.variables.front();
    if (term.op == Op::kVariable || term.op == Op::kSpread) {
      cost_[first] = cost(term.op == Op::kVariable ? term : *term.arguments.front());
    } else if (term.op == Op::kMatmul) {
      const bool is_computed = term.form == MatmulForm::kOuter && plan_.uses[first] <= 1;
      cost_[first] = is_computed ? kOuterCost : 0;
    } else if (term.op == Op::kMap && step.variables.size() > 1) {
      for (const VariableId id : step.variables) cost_[id] = cost(term);
    } else if (term.op == Op::kMap) {
      const Storage chosen = storage(term, first);
      plan_.storage[&term] = chosen;
      cost_[first] = chosen == Storage::kMemory ? 0 : cost(term);
    }
  }

  /// A product stores the vectors that it takes, and its matrix if it is to.
  void note_product(const Term& term) {
    if (term.op != Op::kMatmul) return;
    for (const TermPtr& argument : term.arguments) {
      const bool is_matrix = term.form != MatmulForm::kOuter && argument == term.arguments.front();
      if (argument->op == Op::kVariable && (!is_matrix || by_product_.count(argument->variable) != 0)) {
        cost_[argument->variable] = 0;
      }
    }
  }

  Storage storage(const Term& term, VariableId id) {
    const bool is_wanted = plan_.wanted.count(id) != 0;
    if (plan_.uses[id] <= 1 || (!is_wanted && cost(term) <= kCheap)) return Storage::kNowhere;
    if (!is_filled_by_product(id)) return Storage::kMemory;
    by_product_.insert(id);
    return Storage::kProduct;
  }

  /// Returns true if the first use of a matrix is a product with it, which stores its elements as it computes them.
  bool is_filled_by_product(VariableId id) const {
    const Type& type = plan_.program->variables[id].type;
    if (!type.is_over(Extent::Kind::kElements) || type.element != kFloatType) return false;
    bool is_made = false;
    for (const compll::Step* step : plan_.steps) {
      std::size_t uses = 0;
      for_each_term(*step->value, [&](const Term& each) { uses += each.op == Op::kVariable && each.variable == id; });
      if (is_made && uses != 0) {
        const Term& first = *step->value;
        if (uses != 1 || first.op != Op::kMatmul || first.form == MatmulForm::kOuter) return false;
        const Term& matrix = *first.arguments.front();
        return matrix.op == Op::kVariable && matrix.variable == id;
      }
      is_made = is_made || step->variables.front() == id;
    }
    return false;
  }

  /// The rough number of operations for an element.
  std::size_t cost(const Term& term) const {
    if (term.op == Op::kVariable) {
      const auto found = cost_.find(term.variable);
      return found == cost_.end() ? 0 : found->second;
    }
    if (term.op != Op::kMap) return 0;
    std::size_t all = kArray * (term.arguments.size() - 1);
    for (const TermPtr& argument : term.arguments) all += cost(*argument);
    const auto count = [&](const auto& self, const Term& each) -> std::size_t {
      std::size_t sum = is_random(each) ? kCheap : 1;
      for (const TermPtr& argument : each.arguments) sum += self(self, *argument);
      return sum;
    };
    for (const compll::Step& step : term.function->steps) all += count(count, *step.value);
    for (const TermPtr& result : term.function->results) all += count(count, *result);
    return all;
  }

  Routine& plan_;
  std::map<VariableId, std::size_t> cost_;  ///< operations for an element of a variable's array
  std::set<VariableId> by_product_;         ///< matrices that a product stores
};

}  // namespace

void choose_storage(Routine& plan) { StorageChoice(plan).run(); }

}  // namespace casync::compll::cuda_vector
