// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/vector/cpu/fuse_loops.h"

#include <algorithm>

#include "compll/ir/cannot_plan.h"
#include "compll/ir/vector/cpu/operators.h"
#include "compll/ir/vector/cpu/uses.h"
#include "compll/lang/terms.h"

namespace casync::compll::cpu_vector {
namespace {

/// Lays out a function: its inputs, its steps, and what it gives.
class Layout {
 public:
  explicit Layout(Routine& plan) : plan_(plan), routine_(*plan.routine), program_(*plan.program), fusion_(plan) {}

  void run() {
    switch (plan_.role) {
      case Role::kEncode: return encode();
      case Role::kDecode: return decode();
      case Role::kList: return give_list();
      case Role::kResult: return result();
    }
  }

 private:
  void encode() {
    want_states();
    bind_input();
    bind_states();
    lay_out_steps();
    for (std::size_t i = 0; i < routine_.sections.size(); ++i) {
      if (!program_.sections[i].type.is_over(Extent::Kind::kElements)) continue;
      const Id array = fusion_.arrays.array(*routine_.sections[i]);
      fusion_.loop.add(StoreCodes{i, array}, array);
    }
    keep_states();
    fusion_.loop.close();
    for (std::size_t i = 0; i < routine_.sections.size(); ++i) {
      const Type& type = program_.sections[i].type;
      if (!type.is_array()) {
        fusion_.singles.prepare(*routine_.sections[i]);
        fusion_.singles.check(*routine_.sections[i]);
        fusion_.add(StoreOne{i, routine_.sections[i].get()});
      } else if (!type.is_over(Extent::Kind::kElements)) {
        fusion_.add(StoreAll{i, fusion_.arrays.whole_array(*routine_.sections[i])});
      }
    }
  }

  void decode() {
    bind_sections();
    lay_out_steps();
    give(fusion_.arrays.array(*routine_.result));
  }

  void give_list() {
    const Term& given = *routine_.result;
    bind_sections();
    lay_out_steps();
    const Id places = fusion_.arrays.whole_array(*given.arguments[0]);
    fusion_.add(GiveList{places, fusion_.singles.values(given), &given});
  }

  void result() {
    want_states();
    bind(routine_.gradient, {});
    bind_states();
    lay_out_steps();
    const Id array = fusion_.arrays.array(*routine_.result);
    keep_states();
    if (!fusion_.picks_elements) return give(array);
    fusion_.loop.close();
    fusion_.add(GiveCopied{array});
  }

  void give(Id array) {
    fusion_.loop.add_last(GiveElements{array}, array);
    fusion_.loop.close();
  }

  /// Takes the gradient: the first loop adds the residual to it, keeps the sum and looks for NaN and infinity.
  void bind_input() {
    const Id array = fusion_.value_of(routine_.gradient);
    fusion_.add(Input{array, fusion_.loop.number()});
    fusion_.loop.add(TakeInput{array}, array);
    fusion_.loop.keep();
    fusion_.loop.add_memory(array);
    fusion_.copies.begin(routine_.gradient, array);
  }

  void bind(VariableId id, std::optional<std::size_t> state) {
    if (plan_.uses[id] == 0) return;
    const Id array = fusion_.value_of(id);
    fusion_.add(Given{array, state});
    fusion_.loop.add_memory(array);
    fusion_.copies.begin(id, array);
  }

  void bind_states() {
    for (std::size_t i = 0; i < routine_.states.size(); ++i) bind(routine_.states[i], i);
  }

  void bind_sections() {
    for (std::size_t i = 0; i < routine_.extracted.size(); ++i) {
      if (plan_.uses[routine_.extracted[i]] == 0) continue;
      fusion_.add(Received{fusion_.value_of(routine_.extracted[i]), i});
    }
  }

  void want_states() {
    for (std::size_t i = 0; i < routine_.states_then.size(); ++i) fusion_.copies.want(routine_.states_then[i], i);
  }

  /// Stores the states that were not made at their places.
  void keep_states() {
    const std::vector<VariableId>& then = routine_.states_then;
    for (std::size_t i = 0; i < then.size(); ++i) {
      const bool is_first =
          std::find(then.begin(), then.end(), then[i]) == then.begin() + static_cast<std::ptrdiff_t>(i);
      if (is_first && fusion_.copies.is_made(then[i])) continue;
      const Id array = fusion_.value_of(then[i]);
      fusion_.add(StateMemory{i});
      fusion_.loop.add(StoreState{i, array}, array);
    }
  }

  void lay_out_steps() {
    for (const Step& step : routine_.steps) lay_out(step);
  }

  void lay_out(const Step& step) {
    const Term& term = *step.value;
    const VariableId first = step.variables.front();
    if (term.op == Op::kVariable) {
      if (fusion_.loop.awaits(term.variable)) fusion_.loop.close();
      plan_.of_variable[first] = fusion_.value_of(term.variable);
      if (term.type().is_array()) fusion_.copies.begin(first, fusion_.value_of(first));
      return;
    }
    if (uses_of(plan_, step) == 0) return;
    fusion_.settle(term);
    fusion_.add(Statement{term.at});
    if (term.op == Op::kKthLargest) {
      fusion_.singles.prepare(*term.arguments[1]);
      return define_search(fusion_, fusion_.value_of(first), term, first);
    }
    if (!term.type().is_array()) {
      fusion_.singles.prepare(term);
      fusion_.singles.check(term);
      return fusion_.add(Single{fusion_.value_of(first), &term});
    }
    if (step.variables.size() > 1) return fusion_.arrays.define_parts(step);
    fusion_.arrays.define(fusion_.value_of(first), term, first);
    if (term.type().is_over(Extent::Kind::kElements) && !fusion_.loop.awaits(first)) {
      fusion_.copies.begin(first, fusion_.value_of(first));
    }
  }

  Routine& plan_;
  const compll::Routine& routine_;
  const Program& program_;
  Fusion fusion_;
};

}  // namespace

Id Fusion::value_of(VariableId id) {
  const auto [found, is_new] = plan.of_variable.emplace(id, static_cast<Id>(plan.values.size()));
  if (is_new) {
    const ProgramVariable& variable = plan.program->variables[id];
    plan.values.push_back({variable.name, id, false, variable.type, false});
  }
  return found->second;
}

Id Fusion::temporary(const std::string& word, const Type& type) {
  plan.values.push_back({word, temporaries_++, true, type, false});
  return static_cast<Id>(plan.values.size() - 1);
}

void Fusion::refuse(Span at, const std::string& what) { throw CannotPlan{at, what}; }
void Fusion::refuse(const Term& term) { refuse(term.at, "`" + std::string(name_of(term.op)) + "`"); }

void Fusion::settle(const Term& term) {
  bool needs = false;
  for_each_term(term, [&](const Term& each) {
    if (each.op == Op::kVariable) needs |= loop.awaits(each.variable);
    if (each.op == Op::kElement) picks_elements = true;
    const bool takes = reduces_array(each) || each.op == Op::kLargest;
    if (takes && each.arguments.front()->type().is_over(Extent::Kind::kBlocks)) needs = true;
  });
  if (needs) loop.close();
}

void fuse_loops(Routine& plan) { Layout(plan).run(); }

}  // namespace casync::compll::cpu_vector
