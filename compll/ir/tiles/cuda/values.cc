// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/tiles/cuda/values.h"

#include <algorithm>

#include "compll/ir/tiles/outputs.h"

namespace casync::compll {
namespace {

/// Finds floats whose NaN's bits are seen: those that are stored or asked for their bits, and all their operands.
class SeenNans {
 public:
  explicit SeenNans(CudaTileValues& values) : values_(values), graph_(*values.of.graph) {}

  void mark(const std::vector<ValueId>& shown) {
    ValueFlags &seen = values_.seen, &asked = values_.asked;
    seen.assign(graph_.values().size(), false);
    asked = seen;
    for (ValueId id = 0; id < graph_.values().size(); ++id) numbers_.push_back(is_number(id));
    for (const ValueId id : shown) seen[id] = graph_[id].type.is_float();
    for (ValueId id = static_cast<ValueId>(seen.size()); id-- > 0;) {
      if (numbers_[id]) seen[id] = asked[id] = false;
      const bool asks = tells_nans_apart(id);
      for (const ValueId argument : graph_[id].arguments) {
        if (!graph_[argument].type.is_float()) continue;
        asked[argument] = asked[argument] || asks || asked[id];
        seen[argument] = seen[argument] || asks || seen[id];
      }
    }
  }

 private:
  /// Returns true if it asks for all of a float's bits; `min(bits(x) & 0x7fffffff, c)`, c up to infinity's, does not.
  bool tells_nans_apart(ValueId id) const {
    if (!is_compute(id, Op::kBits)) return false;
    return !all_uses(id, [&](ValueId magnitude) {
      return has_constant(magnitude, Op::kAnd, 0x7fffffff, 0x7fffffff) &&
             all_uses(magnitude, [&](ValueId least) { return has_constant(least, Op::kMin, 0, 0x7f800000); });
    });
  }

  /// Returns true if it is never NaN, and not negative: a float made of the bits of a magnitude, or a sum of such.
  bool is_number(ValueId id) const {
    const Value& value = graph_[id];
    if (value.kind == Value::Kind::kConstant) return value.number >= 0;
    if (is_compute(id, Op::kFromBits)) return values_.of.ranges[value.arguments.front()].most <= 0x7f800000;
    return is_compute(id, Op::kAdd) && numbers_[value.arguments[0]] && numbers_[value.arguments[1]];
  }

  bool is_compute(ValueId id, Op op) const { return graph_[id].kind == Value::Kind::kCompute && graph_[id].op == op; }

  /// Returns true if it is this operation, and an operand is a constant between these.
  bool has_constant(ValueId id, Op op, double least, double most) const {
    const auto fits = [&](ValueId argument) {
      const Value& value = graph_[argument];
      return value.kind == Value::Kind::kConstant && value.number >= least && value.number <= most;
    };
    const std::vector<ValueId>& of = graph_[id].arguments;
    return is_compute(id, op) && std::any_of(of.begin(), of.end(), fits);
  }

  template <class Is>
  bool all_uses(ValueId id, const Is& is) const {
    for (ValueId user = id + 1; user < graph_.values().size(); ++user) {
      const std::vector<ValueId>& of = graph_[user].arguments;
      if (std::find(of.begin(), of.end(), id) != of.end() && !is(user)) return false;
    }
    return true;
  }

  CudaTileValues& values_;
  const Graph& graph_;
  ValueFlags numbers_;  ///< of the values up to the one that is looked at
};

/// The values whose bits leave the kernel. With finite elements only transforms and states make a NaN, which is then
/// kept.
std::vector<ValueId> shown_by(const EncodeGraph& encode) {
  const bool keeps = encode.graph.has_transforms() || !encode.states.empty();
  return keeps ? values_of(outputs_of(encode)) : encode.sections;
}

}  // namespace

CudaTileValues cuda_values(const Graph& graph, const std::vector<ValueId>& shown, const std::vector<ValueId>& kept) {
  CudaTileValues made{routine_values(graph, {}, kept), {}, {}};
  SeenNans(made).mark(shown);
  return made;
}

std::vector<CudaFunction> cuda_functions(const Graph& graph) {
  std::vector<CudaFunction> all;
  for (const ReducerFunction& function : graph.functions()) {
    CudaFunction made{cuda_values(function.graph, {function.result}, {}), {}};
    for (ValueId id = 2; id < function.graph.values().size(); ++id) {
      if (made.values.of.has_line[id]) made.lines.push_back(id);
    }
    all.push_back(std::move(made));
  }
  return all;
}

void name_values(CudaEncoder& plan) {
  std::vector<ValueId> kept = values_of(outputs_of(*plan.encode));
  for (const std::optional<Condition>& condition : plan.conditions) {
    if (condition) kept.push_back(condition->value);
  }
  kept.insert(kept.end(), plan.of_places.begin(), plan.of_places.end());
  plan.values = cuda_values(plan.graph(), shown_by(*plan.encode), kept);
  plan.functions = cuda_functions(plan.graph());
}

}  // namespace casync::compll
