// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/vector/cpu/arrays.h"

#include <algorithm>

#include "base/check.h"
#include "compll/ir/vector/cpu/fuse_loops.h"
#include "compll/ir/vector/cpu/operators.h"
#include "compll/ir/vector/cpu/storage.h"
#include "compll/lang/terms.h"

namespace casync::compll::cpu_vector {

Id Arrays::array(const Term& term) {
  if (term.op == Op::kVariable) {
    if (fusion_.loop.awaits(term.variable)) fusion_.loop.close();
    return fusion_.value_of(term.variable);
  }
  fusion_.settle(term);
  const Id to = fusion_.temporary(std::string(name_of(term.op)), term.type());
  define(to, term, {});
  return to;
}

Id Arrays::whole_array(const Term& term) {
  const Id to = array(term);
  fusion_.loop.close();
  return to;
}

void Arrays::define(Id to, const Term& term, std::optional<VariableId> id) {
  const std::optional<ArrayOp> op = array_op(term.op);
  CASYNC_CHECK(op.has_value());
  switch (*op) {
    case ArrayOp::kMap: return define_map(to, term);
#define COMPLL_ARRAY(operation, word, ...)       \
  case ArrayOp::k##operation: {                  \
    return define_##word(fusion_, to, term, id); \
  }
#define COMPLL_VECTOR(operation, ...)      \
  case ArrayOp::k##operation: {            \
    return define_call(fusion_, to, term); \
  }
#include "compll/lang/operators.def"
    case ArrayOp::kExchange: Fusion::refuse(term);  // between two turns
    case ArrayOp::kReduce:
    case ArrayOp::kKthLargest: CASYNC_CHECK(false);  // no arrays: Singles lays them out
  }
}

/// Defines a map where it is used, or stores it.
void Arrays::define_map(Id to, const Term& term) {
  const Storage storage = fusion_.plan.storage.at(&term);
  if (storage == Storage::kNowhere) return define_function(to, term);
  if (storage == Storage::kGathered) return define_gather(to, term);
  const Id from = fusion_.temporary("each", term.type());
  define_function(from, term);
  storage == Storage::kBlocks ? define_block_values(fusion_, to, from, term) : keep(to, from);
}

void Arrays::define_gather(Id to, const Term& term) {
  const Term& of = *term.function->results.front()->arguments[0];
  const Id places = whole_array(*term.arguments.front());
  const std::optional<Id> copy = fusion_.copies.copy_of(of);
  fusion_.add(Gather{to, places, copy ? *copy : fusion_.value_of(of.variable), copy.has_value()});
}

/// Stores an array: in the loop that was put off, or at once if it is not over all elements.
void Arrays::keep(Id to, Id from) {
  fusion_.add(Keep{to, from});
  if (!fusion_.plan.values[to].type.is_over(Extent::Kind::kElements)) return;
  fusion_.loop.add(KeepElements{to, from}, from);
  fusion_.loop.set_level(to, fusion_.loop.level(from));
  fusion_.loop.keep();
}

void Arrays::define_parts(const Step& step) {
  Routine& plan = fusion_.plan;
  const Term& term = *step.value;
  const Id all = fusion_.temporary("all", term.type());
  define_function(all, term);
  const bool one_by_one = plan.values[all].one_by_one;
  const bool sixteen = !one_by_one || plan.one_by_one.count(&term) == 0;
  for (std::size_t i = 0; i < step.variables.size(); ++i) {
    const VariableId id = step.variables[i];
    if (plan.uses[id] == 0) continue;
    const Id to = fusion_.value_of(id);
    const bool is_kept = plan.kept_parts.count(id) != 0;
    const Id from = is_kept ? fusion_.temporary("each", term.types[i]) : to;
    fusion_.add(Part{from, all, i, sixteen});
    fusion_.loop.set_level(from, fusion_.loop.level(all));
    plan.values[from].one_by_one = one_by_one;
    if (is_kept) {
      // Statistics of blocks may be there only in the loop that is put off.
      term.type().is_over(Extent::Kind::kBlocks) ? define_block_values(fusion_, to, from, term) : keep(to, from);
    }
    if (term.type().is_over(Extent::Kind::kElements)) fusion_.copies.begin(id, to);
  }
}

/// Defines a map as a function of an element.
void Arrays::define_function(Id to, const Term& term) {
  Routine& plan = fusion_.plan;
  Map map{to, &term, {}, {}, plan.one_by_one.count(&term) == 0, plan.called.count(&term) != 0};
  std::size_t level = 0;
  bool one_by_one = !map.sixteen;
  for (std::size_t i = 0; i < term.arguments.size(); ++i) {
    map.arguments.emplace_back();
    if (plan.uses[term.function->parameters[i]] == 0) continue;
    const Id from = array(*term.arguments[i]);
    map.arguments.back() = from;
    level = std::max(level, fusion_.loop.level(from));
    one_by_one |= plan.values[from].one_by_one;
  }
  if (reads_elsewhere(*term.function)) fusion_.loop.close();
  for_each_term(*term.function, [&](const Term& each) {
    if (is_random(each) && plan.drawn.insert(each.purpose).second) map.draws.push_back(each.purpose);
  });
  fusion_.singles.check(*term.function,
                        plan.storage.at(&term) == Storage::kNowhere ? FromCopies::kNever : FromCopies::kAllowed);
  fusion_.add(std::move(map));
  fusion_.loop.set_level(to, level);
  plan.values[to].one_by_one = one_by_one;
}

}  // namespace casync::compll::cpu_vector
