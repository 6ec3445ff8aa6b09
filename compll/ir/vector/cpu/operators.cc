// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/vector/cpu/operators.h"

#include <algorithm>

#include "compll/ir/vector/cpu/fuse_loops.h"

namespace casync::compll::cpu_whole {
namespace {

/// `largest` or `kth_largest` of few elements, at once.
Apply selected(Id to, const Term& term, Id key) {
  const std::string name(name_of(term.op));
  const SizeOf count{term.arguments.front()->type()};
  if (term.op == Op::kLargest) return {to, name, {}, {count, SizeOf{term.type()}, key, Workspace{}}, name + " by {2}"};
  const Term* const place = term.arguments[1].get();
  return {to, name, term.type().element, {count, place, key, Workspace{}}, name + " by {2}"};
}

}  // namespace

void Operators::define_largest(Id to, const Term& term, std::optional<VariableId> id) {
  OpenLoop& loop = fusion_.loop;
  const Term& of = *term.arguments.front();
  if (term.op == Op::kKthLargest) fusion_.singles.check(*term.arguments[1]);
  const Id from = fusion_.arrays.array(of), key = fusion_.temporary("key");
  // A sample computes elements one by one, ahead of the loop.
  if (loop.level(from) != 0 || fusion_.plan.values[from].one_by_one) loop.close();
  fusion_.add(Key{key, from});
  if (!of.type().is_over(Extent::Kind::kElements)) return fusion_.add(selected(to, term, key));
  const Id search = fusion_.temporary(std::string(name_of(term.op)));
  fusion_.add(Search{search, key, &term, loop.keeps_any()});
  loop.add(FeedSearch{search, key, from, term.op}, from);
  loop.add_behind(Found{to, search, key, &term}, id);
  if (!id) loop.close();
}

void Operators::define_call(Id to, const Term& term) {
  const std::string name(name_of(term.op));
  Apply call{to, name, {}, {}, name + " of", {}, term.op};
  for (const TermPtr& argument : term.arguments) {
    if (argument->type().is_array()) {
      const Id from = fusion_.arrays.whole_array(*argument);
      call.arguments.push_back(SizeOf{argument->type()});
      call.arguments.push_back(from);
      call.reads.push_back(from);
    } else {
      fusion_.singles.prepare(*argument);
      fusion_.singles.check(*argument);
      call.arguments.push_back(argument.get());
    }
    call.words += " {" + std::to_string(call.arguments.size() - 1) + "}";
  }
  call.arguments.push_back(SizeOf{term.type()});
  call.arguments.push_back(Workspace{});
  if (term.type().is_over(Extent::Kind::kElements)) call.writes = 4;
  fusion_.add(std::move(call));
}

void Operators::define_where(Id to, const Term& term) {
  const Term& of = *term.arguments.front();
  const Id from = fusion_.arrays.whole_array(of);
  const std::vector<Argument> arguments = {SizeOf{of.type()}, SizeOf{term.type()}, from, Workspace{}};
  fusion_.add(Apply{to, "where", {}, arguments, "where {2}", {from}, term.op});
}

void Operators::define_sort(Id to, const Term& term) {
  const Term& of = *term.arguments.front();
  const ScalarType element = term.type().element;
  const Id from = fusion_.arrays.whole_array(of);
  std::vector<Argument> arguments = {SizeOf{of.type()}, from, Workspace{}, LessOf{element}};
  if (term.function) arguments.back() = fusion_.singles.function(term);
  const std::string words = term.function ? "sort {1} by {3}" : "sort {1}";
  fusion_.add(Apply{to, "sorted", element, std::move(arguments), words, {from}, term.op});
}

void Operators::define_scatter(Id to, const Term& term, std::optional<VariableId> id) {
  const Id places = fusion_.arrays.whole_array(*term.arguments[0]);
  const std::optional<Id> values = fusion_.singles.values(term);
  if (!fusion_.copies.take_copy(id)) {
    std::optional<Id> into;
    if (term.arguments.size() > 2) into = fusion_.arrays.whole_array(*term.arguments[2]);
    fusion_.add(ScatterMemory{to, into, fusion_.copies.take(id)});
  }
  fusion_.add(Scatter{to, places, values, &term});
}

void Operators::define_block_reduction(Id to, const Term& term) {
  const Id from = fusion_.arrays.array(*term.arguments.front());
  const std::size_t level = fusion_.loop.level(from);
  const std::optional<Id> function = reduces_groups(term) ? std::nullopt : fusion_.singles.reducing_function(term);
  fusion_.add(BlockMemory{to});
  fusion_.loop.add_of_blocks(to, ReduceBlocks{to, from, &term, function}, level, term.block);
}

void Operators::define_block_values(Id to, Id from, const Term& term) {
  const std::size_t level = std::max<std::size_t>(fusion_.loop.level(from), 1) - 1;
  fusion_.add(BlockMemory{to});
  fusion_.loop.add_of_blocks(to, ComputeBlocks{to, from}, level, term.type().extent->count);
}

void Operators::define_hadamard(Id to, const Term& term) {
  const Term& of = *term.arguments.front();
  const Id from = fusion_.arrays.array(of);
  fusion_.add(RotatedMemory{to});
  if (!of.type().is_over(Extent::Kind::kElements)) return fusion_.add(Rotate{to, from, term.block});
  fusion_.loop.add_of_blocks(to, RotateBlocks{to, from, term.block}, fusion_.loop.level(from), term.block);
  fusion_.loop.keep();
}

}  // namespace casync::compll::cpu_whole
