// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/ranges.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace casync::compll {
namespace {

Range of_type(ScalarType type) {
  if (!type.is_integer()) return {};
  return {static_cast<double>(least_of(type)), static_cast<double>(most_of(type))};
}

/// What does not fit into the type wraps around, and may be anything.
Range unless_it_wraps(Range exact, Range all) {
  return exact.least >= all.least && exact.most <= all.most ? exact : all;
}

Range of_compute(const Graph& graph, const Value& value, const std::vector<Range>& known) {
  const Range all = of_type(value.type);
  std::vector<Range> of;
  for (const ValueId id : value.arguments) of.push_back(known[id]);
  const auto is_constant = [&](std::size_t i) { return graph[value.arguments[i]].kind == Value::Kind::kConstant; };
  switch (value.op) {
    case Op::kNegate: return unless_it_wraps({-of[0].most, -of[0].least}, all);
    case Op::kAdd: return unless_it_wraps({of[0].least + of[1].least, of[0].most + of[1].most}, all);
    case Op::kSubtract: return unless_it_wraps({of[0].least - of[1].most, of[0].most - of[1].least}, all);
    case Op::kMin: return {std::min(of[0].least, of[1].least), std::min(of[0].most, of[1].most)};
    case Op::kMax: return {std::max(of[0].least, of[1].least), std::max(of[0].most, of[1].most)};
    case Op::kSelect: return {std::min(of[1].least, of[2].least), std::max(of[1].most, of[2].most)};
    case Op::kAnd: {  // no bit that one of them never has
      if (of[0].least < 0 && of[1].least < 0) return all;
      if (of[0].least < 0) return {0, of[1].most};
      return {0, of[1].least < 0 ? of[0].most : std::min(of[0].most, of[1].most)};
    }
    case Op::kOr:
    case Op::kXor: {
      if (of[0].least < 0 || of[1].least < 0) return all;
      return {0, std::exp2(std::ceil(std::log2(std::max(of[0].most, of[1].most) + 1))) - 1};
    }
    case Op::kShiftRight: {
      if (!is_constant(1)) return {std::min(of[0].least, 0.0), std::max(of[0].most, 0.0)};
      const int count = static_cast<int>(of[1].least) & 31;
      return {std::floor(std::ldexp(of[0].least, -count)), std::floor(std::ldexp(of[0].most, -count))};
    }
    case Op::kConvert: {
      const ScalarType from = graph[value.arguments[0]].type;
      if (from == kBoolType) return {0, std::min(1.0, all.most)};
      if (!from.is_integer()) return all;
      return {std::clamp(of[0].least, all.least, all.most), std::clamp(of[0].most, all.least, all.most)};
    }
    default: return all;
  }
}

}  // namespace

std::vector<Range> ranges_of(const Graph& graph) {
  std::vector<Range> known;
  for (const Value& value : graph.values()) {
    const bool is_integer = value.type.is_integer();
    if (is_integer && value.kind == Value::Kind::kConstant)
      known.push_back({value.number, value.number});
    else if (is_integer && value.kind == Value::Kind::kSpread)
      known.push_back(known[value.arguments[0]]);
    else if (is_integer && value.kind == Value::Kind::kCompute)
      known.push_back(of_compute(graph, value, known));
    else
      known.push_back(of_type(value.type));
  }
  return known;
}

}  // namespace casync::compll
