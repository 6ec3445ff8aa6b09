// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/vector/cuda/results.h"

#include <algorithm>

#include "compll/ir/vector/cuda/changed.h"
#include "compll/ir/vector/cuda/ready.h"
#include "compll/ir/vector/cuda/staging.h"
#include "compll/ir/vector/cuda/tasks.h"
#include "compll/ir/vector/cuda/uses.h"
#include "compll/lang/terms.h"

namespace casync::compll::cuda_vector {
namespace {

/// Returns true if the routine may read elements of other tiles.
bool reads_elsewhere(const compll::Routine& routine) {
  bool any = false;
  for_each_term(routine, [&](const Term& each) {
    const bool by_element = each.op <= Op::kMap && each.op != Op::kElement;
    any |= !by_element && each.op != Op::kBlockReduce && each.op != Op::kSpread && each.op != Op::kRange;
  });
  return any;
}

class Results {
 public:
  explicit Results(Routine& plan) : plan_(plan), routine_(*plan.routine), staging_(plan) {}

  void run() {
    switch (plan_.role) {
      case Role::kEncode: return encode();
      case Role::kDecode: return decode();
      case Role::kResult: return give_result();
      case Role::kTurn: return end_turn();
    }
  }

 private:
  void encode() {
    for (std::size_t i = 0; i < routine_.sections.size(); ++i) send(i);
    for (const compll::Step* step : plan_.changed) change(*step->value, step->variables.front());
    subtract_decoded();
    keep_states();
  }

  void send(std::size_t section) {
    const Term& term = *routine_.sections[section];
    staging_.arrays.plan_term(term);
    const Type& type = plan_.program->sections[section].type;
    Send work{section, {}, &term};
    type.is_array() ? static_cast<void>(work.from = value_of(plan_, term)) : check(term);
    // Entries of fewer bits share words with those of other tiles' blocks.
    const bool has_words = type.element.bits >= 32 && type.element != kTritType;
    const bool by_blocks = type.is_over(Extent::Kind::kBlocks) && has_words;
    const std::uint32_t stage = by_blocks ? ready(plan_, term).own : ready_to_share(plan_, term);
    is_shared_evenly(type) ? add(plan_, stage, work) : add_own(plan_, stage, work);
  }

  /// Changes an array where it lies. Works of this stage that read the places' elements have the same share of them.
  void change(const Term& term, VariableId made) {
    const Term &places = *term.arguments[0], &values = *term.arguments[1];
    staging_.arrays.plan_term(values);
    plan_.made_there.insert(made);
    const Value& array = plan_.values[value_of(plan_, *term.arguments[2])];
    Change work{&term, value_of(plan_, places), {}, std::get<Memory>(array.definition).at, true};
    values.type().is_array() ? static_cast<void>(work.values = value_of(plan_, values)) : check(values);
    add(plan_, after_all(places, values), work);
  }

  void subtract_decoded() {
    const std::optional<SentElements> sent = sent_elements(plan_);
    if (!sent) return;
    plan_.keeps_residual = true;
    add(plan_, after_all(*sent->places, *sent->values),
        SubtractDecoded{value_of(plan_, *sent->places), value_of(plan_, *sent->values)});
  }
  std::uint32_t after_all(const Term& places, const Term& values) const {
    return std::max({stages_of(plan_) - 1, ready_to_share(plan_, places), ready_to_share(plan_, values)});
  }

  void keep_states() {
    for (std::size_t i = 0; i < routine_.states_then.size(); ++i) {
      const VariableId then = routine_.states_then[i];
      if (is_made_there(plan_, then, Address::Base::kStateOut, i)) continue;
      const Id from = plan_.of_variable.at(then);
      const bool evenly = is_shared_evenly(plan_.values[from].type);
      add_own(plan_, ready(plan_, then).own, KeepState{from, i}, evenly ? 0 : 1);
    }
  }

  void decode() {
    const Term& given = *routine_.result;
    const bool scatters =
        given.op == Op::kScatter && given.arguments.size() == 2 && given.arguments[1]->type().is_array();
    if (!scatters || !is_distinct(plan_, *given.arguments[0])) {
      staging_.arrays.plan_term(given);
      return add(plan_, ready(plan_, given).own, Give{value_of(plan_, given)});
    }
    const Term &places = *given.arguments[0], &values = *given.arguments[1];
    staging_.arrays.plan_term(places);
    staging_.arrays.plan_term(values);
    add(plan_, 0, GiveZeros{});
    const std::uint32_t stage = std::max({1u, ready_to_share(plan_, places), ready_to_share(plan_, values)});
    add(plan_, stage, GiveList{value_of(plan_, places), value_of(plan_, values), given.at});
  }

  void give_result() {
    const Term& given = *routine_.result;
    staging_.arrays.plan_term(given);
    const Address made = take_result();
    add_own(plan_, ready(plan_, given).own, Fill{.from = value_of(plan_, given), .type = given.type(), .to = made});
    keep_states();
    // Comes last, as it may overwrite the operand, which the tile itself reads, or others, which then have to be done.
    add_own(plan_, stages_of(plan_) - (reads_elsewhere(routine_) ? 0 : 1), GiveCopied{made});
  }
  Address take_result() { return address_of(take_elements(plan_, "made", routine_.result->type()), kFloatType); }

  void end_turn() {
    const Term& given = given_by_turn(plan_);
    staging_.arrays.plan_term(given);
    const RoundsPlan& rounds = plan_.rounds;
    for (std::size_t i = 0; i < rounds.stored.size(); ++i) {
      const ScalarType element = plan_.program->variables[rounds.stored[i]].type.element;
      if (rounds.stored_in[i] == plan_.turn) put(rounds.stored[i], {Address::Base::kStored, i, element, {}});
    }
    if (is_last_turn(plan_)) return end_last_turn(given);
    const Address to{Address::Base::kExchanged, plan_.turn, kFloatType, {}};
    given.op == Op::kVariable ? put(given.variable, to) : fill(given, to);
  }

  /// Copies a variable to an address unless it was made there.
  void put(VariableId id, const Address& to) {
    if (is_made_there(plan_, id, to.base, to.index)) return;
    const Type& type = plan_.program->variables[id].type;
    const Ready when = ready(plan_, id);
    const Id from = plan_.of_variable.at(id);
    if (!type.is_array()) return add(plan_, when.all, StoreOne{from, to});
    const std::uint32_t stage = type.is_over(Extent::Kind::kBlocks) ? when.all : when.own;
    // In the stage that makes an array a tile reads its own share of it, which for a computed size is an equal one.
    add(plan_, stage, Fill{.from = from, .type = type, .to = to, .evenly = is_shared_evenly(type)});
  }
  void fill(const Term& array, const Address& to) {
    add(plan_, ready_to_share(plan_, array),
        Fill{.from = value_of(plan_, array), .type = array.type(), .to = to, .at = array.at});
  }

  /// The result may be in the gradient's memory: if a step reads the gradient, it is made elsewhere.
  void end_last_turn(const Term& given) {
    keep_states();
    const bool waits = plan_.uses[routine_.gradient] != 0;
    const Address made = waits ? take_result() : Address{Address::Base::kResult, 0, kFloatType, {}};
    fill(given, made);
    if (waits) add(plan_, stages_of(plan_), GiveCopied{made});
  }

  Routine& plan_;
  const compll::Routine& routine_;
  Staging staging_;
};

}  // namespace

void plan_results(Routine& plan) { Results(plan).run(); }

}  // namespace casync::compll::cuda_vector
