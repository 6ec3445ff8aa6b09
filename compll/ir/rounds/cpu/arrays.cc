// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/rounds/cpu/arrays.h"

#include <utility>

#include "compll/ir/rounds/cpu/layout.h"
#include "compll/ir/rounds/cpu/operators.h"

namespace casync::compll::cpu_turns {

std::vector<Id> outers_of(const Array& array) {
  std::vector<Id> all;
  for (const auto& [name, id] : array.outers) all.push_back(id);
  return all;
}

Array Arrays::array_of(const Term& term) {
  if (term.op == Op::kVariable) return layout_.plan.arrays.at(term.variable);
  return define(term, layout_.temporary(std::string(name_of(term.op)), term.type()), {});
}

Array Arrays::settled(const Term& term) {
  Array array = array_of(term);
  if (array.outers.empty()) return array;
  return in_memory(std::move(array), term.type(), {}, "a product");
}

Array Arrays::define(const Term& term, Id to, const std::optional<Place>& place) {
  const std::optional<ArrayOp> op = array_op(term.op);
  if (!op) Layout::refuse(term);
  switch (*op) {
    case ArrayOp::kMap: return define_map(term, to);
#define COMPLL_ARRAY(operation, word, ...)          \
  case ArrayOp::k##operation: {                     \
    return define_##word(layout_, term, to, place); \
  }
#define COMPLL_VECTOR(operation, ...) case ArrayOp::k##operation:
#include "compll/lang/operators.def"
    case ArrayOp::kReduce:
    case ArrayOp::kKthLargest:
    case ArrayOp::kExchange: break;  // these are interpreted here
  }
  Layout::refuse(term);
}

Array Arrays::stored(Id to) {
  layout_.add(Stored{to, {}});
  return {to, to, {}};
}

Array Arrays::define_map(const Term& term, Id to) {
  if (term.types.size() > 1) Layout::refuse(term, "a map of several results");
  Array map{to, {}, {}};
  Map item{to, &term, {}};
  for (const TermPtr& argument : term.arguments) {
    const Array from = array_of(*argument);
    item.arguments.push_back(from.id);
    map.outers.insert(from.outers.begin(), from.outers.end());
    map.reads.insert(from.reads.begin(), from.reads.end());
  }
  // Values outside of the elements are computed ahead of them.
  layout_.singles.hoist(*term.function);
  layout_.singles.check(*term.function);
  layout_.add(std::move(item));
  return map;
}

Array Arrays::in_memory(Array array, const Type& type, const std::optional<Place>& place, const std::string& what) {
  if (array.memory && !place) return array;
  const Id to = layout_.temporary("kept", type);
  layout_.add(Memory{to, place});
  fill(array, type, to, what);
  Array kept = stored(to);
  if (type.is_over(Extent::Kind::kElements)) kept.reads.insert(to);
  return kept;
}

void Arrays::fill(const Array& array, const Type& type, const Address& to, const std::string& what) {
  layout_.note(what, array, type, 4);
  layout_.add(Fill{array.id, outers_of(array), type, to});
}

}  // namespace casync::compll::cpu_turns
