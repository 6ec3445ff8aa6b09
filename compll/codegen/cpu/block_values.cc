// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cpu/block_values.h"

namespace casync::compll {

BlockValues::BlockValues(const Graph& graph, const ExpressionText& text, const Pass& pass)
    : graph_(graph), text_(text), computed_in_(graph.values().size(), 0) {
  for (std::size_t i = 0; i < pass.phases.size(); ++i) {
    const Phase& phase = pass.phases[i];
    const std::size_t before = i == 0 ? 0 : i - 1;
    for (const ValueId id : phase.of_block) {
      computed_in_[id] = before;
      if (text_.has_line(id)) use_arguments(id, before);
    }
    for (const Output& output : phase.block_stores) use(output.value, before);
    for (const ValueId id : phase.elements) {
      if (graph[id].kind != Value::Kind::kTransform) use_arguments(id, i);
    }
    for (const ValueId id : phase.transforms) use_arguments(id, i);
    for (const Output& output : phase.stores) use(output.value, i);
  }
  for (const auto& [id, loop] : used_in_) {
    if (loop != computed_in_[id]) handed_on_.insert(id);
  }
}

/// Records a use of a block's value if that has a name; else uses of the values that it is made of.
void BlockValues::use(ValueId id, std::size_t loop) {
  const Value& value = graph_[id];
  if (value.domain == Domain::kBlock && text_.has_line(id)) {
    used_in_.insert({id, loop});
  } else if (value.domain == Domain::kBlock || value.kind == Value::Kind::kSpread) {
    use_arguments(id, loop);
  }
}

/// Records uses of a value's operands. A block reduction took its elements earlier; it uses its initial value here.
void BlockValues::use_arguments(ValueId id, std::size_t loop) {
  const Value& value = graph_[id];
  for (std::size_t i = value.kind == Value::Kind::kBlockReduce ? 1 : 0; i < value.arguments.size(); ++i) {
    use(value.arguments[i], loop);
  }
}

}  // namespace casync::compll
