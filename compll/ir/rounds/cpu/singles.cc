// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/rounds/cpu/singles.h"

#include "compll/ir/rounds/cpu/layout.h"

namespace casync::compll::cpu_turns {

void Singles::lay_out(const Term& term) {
  hoist(term);
  check(term);
}

void Singles::hoist(const Term& term) {
  Turn& plan = layout_.plan;
  if (term.op == Op::kSize) return;
  if (term.op == Op::kElement) {
    plan.of_term[term.arguments[0].get()] = layout_.arrays.settled(*term.arguments[0]).id;
    return hoist(*term.arguments[1]);
  }
  for (const TermPtr& argument : term.arguments) {
    if (!argument->type().is_array()) hoist(*argument);
  }
  if (term.op == Op::kKthLargest) return find(term);
  if (term.op != Op::kReduce) return;
  const Term& of = *term.arguments[0];
  const Array from = layout_.arrays.settled(of);
  const std::optional<Id> function = function_of(term);
  const Id to = layout_.temporary("reduced", term.type());
  layout_.note("`reduce`", from, of.type(), 0);
  layout_.add(Reduce{to, from.id, &term, function});
  plan.of_term[&term] = to;
}

void Singles::hoist(const Body& body) {
  for (const Step& step : body.steps) hoist(*step.value);
  for (const TermPtr& result : body.results) hoist(*result);
}

void Singles::find(const Term& selection) {
  const Term& of = *selection.arguments[0];
  const Array from = layout_.arrays.in_memory(layout_.arrays.array_of(of), of.type(), {}, "`kth_largest`");
  check(*selection.arguments[1]);
  const Id to = layout_.temporary("kth_largest", selection.type());
  layout_.note("`kth_largest`", from, of.type(), 0);
  layout_.add(Apply{"find_kth_largest",
                    {SizeOf{of.type()}, selection.arguments[1].get(), MemoryOf{*from.memory}, Workspace{}},
                    "kth_largest of {2}",
                    to});
  layout_.plan.of_term[&selection] = to;
}

std::optional<Id> Singles::function_of(const Term& reduction) {
  if (reduction.reducer != Reducer::kUser) return {};
  const Id to = layout_.temporary("function", {reduction.arguments.front()->type().element, {}});
  hoist(*reduction.function);
  check(*reduction.function);
  layout_.add(Function{to, &reduction});
  lay_out(*reduction.arguments[1]);
  return to;
}

void Singles::check(const Body& body) const {
  for (const Step& step : body.steps) check(*step.value);
  check(*body.results.front());
}

void Singles::check(const Term& term) const {
  if (layout_.plan.of_term.count(&term) != 0) return;
  switch (term.op) {
    case Op::kConstant:
    case Op::kVariable:
    case Op::kParameter:
    case Op::kRows:
    case Op::kColumns:
    case Op::kSize:
    case Op::kRandomBits:
    case Op::kRandomUniform: return;
    case Op::kElement:
    case Op::kConvert:
    case Op::kSelect: break;
    default:
      if (!is_scalar(term.op)) Layout::refuse(term, "`" + std::string(name_of(term.op)) + "` of this");
  }
  for (const TermPtr& argument : term.arguments) check(*argument);
}

}  // namespace casync::compll::cpu_turns
