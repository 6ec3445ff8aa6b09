// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/vector/cpu/singles.h"

#include "compll/ir/vector/cpu/fuse_loops.h"
#include "compll/ir/vector/cpu/operators.h"
#include "compll/ir/vector/cpu/storage.h"

namespace casync::compll::cpu_vector {

bool reduces_groups(const Term& term) {
  const ScalarType element = term.arguments.front()->type().element;
  switch (term.reducer) {
    case Reducer::kMagnitude:
    case Reducer::kSum: return true;
    case Reducer::kCount:
    case Reducer::kMin:
    case Reducer::kMax: return element != kDoubleType;
    case Reducer::kUser: break;
  }
  return false;
}

void Singles::prepare(const Term& term) {
  if (term.op == Op::kSize) return;
  if (term.op == Op::kElement) {
    fusion_.plan.of_term[term.arguments[0].get()] = fusion_.arrays.whole_array(*term.arguments[0]);
    return prepare(*term.arguments[1]);
  }
  for (const TermPtr& argument : term.arguments) {
    if (!argument->type().is_array()) prepare(*argument);
  }
  if (term.op == Op::kReduce) {
    fusion_.plan.of_term[&term] = reduction(term, fusion_.arrays.array(*term.arguments[0]));
  }
  if (term.op == Op::kKthLargest) {
    const Id value = fusion_.temporary("kth_largest", term.type());
    fusion_.plan.of_term[&term] = value;
    define_search(fusion_, value, term, {});
  }
}

void Singles::check(const Term& term, FromCopies copies) {
  if (fusion_.plan.of_term.count(&term) != 0) return;
  switch (term.op) {
    case Op::kConstant:
    case Op::kVariable:
    case Op::kParameter:
    case Op::kSize:
    case Op::kRandomBits:
    case Op::kRandomUniform: return;
    case Op::kElement:
      check(*term.arguments[0], copies);
      if (const std::optional<Id> copy = fusion_.copies.copy_of(*term.arguments[0]);
          copy && copies == FromCopies::kAllowed) {
        fusion_.plan.reads_copy[&term] = *copy;
      }
      return check(*term.arguments[1], copies);
    case Op::kConvert: return check(*term.arguments[0], copies);
    default: break;
  }
  if (!is_scalar(term.op)) Fusion::refuse(term.at, "`" + std::string(name_of(term.op)) + "` here");
  for (const TermPtr& argument : term.arguments) check(*argument, copies);
}

void Singles::check(const Body& body, FromCopies copies) {
  for (const Step& step : body.steps) {
    if (fusion_.plan.uses[step.variables.front()] != 0) check(*step.value, copies);
  }
  for (const TermPtr& each : body.results) check(*each, copies);
}

std::optional<Id> Singles::values(const Term& scatter) {
  const Term& values = *scatter.arguments[1];
  if (values.type().is_array()) return fusion_.arrays.whole_array(values);
  prepare(values);
  check(values, FromCopies::kNever);  // it is computed again for each place
  return std::nullopt;
}

Id Singles::function(const Term& term) {
  const Id name = fusion_.temporary("function");
  if (reads_elsewhere(*term.function)) fusion_.loop.close();
  check(*term.function);
  fusion_.add(Function{name, &term});
  return name;
}

std::optional<Id> Singles::reducing_function(const Term& term) {
  if (term.reducer != Reducer::kUser) return std::nullopt;
  check(*term.arguments[1]);
  return function(term);
}

/// Lays out a reduction to one value: of n elements in the loop that was put off, of others at once.
Id Singles::reduction(const Term& term, Id from) {
  const bool of_all = term.arguments.front()->type().is_over(Extent::Kind::kElements);
  const Id value = fusion_.temporary("reduced", term.type());
  if (of_all && reduces_groups(term)) {
    fusion_.add(OpenReducer{value, &term});
    fusion_.loop.add(FeedReducer{value, from, &term}, from);
    fusion_.loop.close();
    fusion_.add(Reduced{value, &term});
    return value;
  }
  // The array may be one of blocks, which the loop is still to reduce.
  if (of_all || fusion_.loop.level(from) != 0) fusion_.loop.close();
  const std::optional<Id> function = reduces_groups(term) ? std::nullopt : reducing_function(term);
  fusion_.add(Reduce{value, from, &term, function});
  return value;
}

}  // namespace casync::compll::cpu_vector
