// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/tiles/ranges.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace casync::compll {
namespace {

Range of_type(ScalarType type) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (!type.is_integer()) return {-kInfinity, kInfinity, true};
  return {static_cast<double>(least_of(type)), static_cast<double>(most_of(type))};
}

/// Returns the whole range if the exact result may not fit into the type: it then wraps around to any value.
Range unless_it_wraps(Range exact, Range all) {
  return exact.least >= all.least && exact.most <= all.most ? exact : all;
}

/// Ranges of min and max follow from their definitions, NaN included: b < a ? b : a, and a < b ? b : a.
Range of_min(const Range& a, const Range& b) {
  return {std::min(a.least, b.least), b.may_be_nan ? a.most : std::min(a.most, b.most), a.may_be_nan};
}
Range of_max(const Range& a, const Range& b) {
  return {b.may_be_nan ? a.least : std::max(a.least, b.least), std::max(a.most, b.most), a.may_be_nan};
}
Range of_select(const Range& a, const Range& b) {
  return {std::min(a.least, b.least), std::max(a.most, b.most), a.may_be_nan || b.may_be_nan};
}

/// Rounds to a float. GCC 12.2 takes a pair of static_cast<float>(double) that become doubles again for no change
/// (-ftree-slp-vectorize), so one of them is hidden from it.
double rounded(double x) {
  const volatile auto as_float = static_cast<float>(x);
  return static_cast<double>(as_float);
}

Range of_float(const Graph& graph, const Value& value, const std::vector<Range>& known) {
  const auto of = [&](std::size_t i) -> const Range& { return known[value.arguments[i]]; };
  switch (value.op) {
    case Op::kNegate: return {-of(0).most, -of(0).least, of(0).may_be_nan};
    case Op::kAbs: return {0, std::max(-of(0).least, of(0).most), of(0).may_be_nan};
    case Op::kMin: return of_min(of(0), of(1));
    case Op::kMax: return of_max(of(0), of(1));
    case Op::kSelect: return of_select(of(1), of(2));
    case Op::kConvert: {
      if (graph[value.arguments[0]].type == kBoolType) return {0, 1};
      if (value.type == kDoubleType) return of(0);
      return {rounded(of(0).least), rounded(of(0).most), of(0).may_be_nan};
    }
    default: return of_type(value.type);
  }
}

Range of_integer(const Graph& graph, const Value& value, const std::vector<Range>& known) {
  const Range all = of_type(value.type);
  std::vector<Range> of;
  for (const ValueId id : value.arguments) of.push_back(known[id]);
  const auto is_constant = [&](std::size_t i) { return graph[value.arguments[i]].kind == Value::Kind::kConstant; };
  switch (value.op) {
    case Op::kNegate: return unless_it_wraps({-of[0].most, -of[0].least}, all);
    case Op::kAdd: return unless_it_wraps({of[0].least + of[1].least, of[0].most + of[1].most}, all);
    case Op::kSubtract: return unless_it_wraps({of[0].least - of[1].most, of[0].most - of[1].least}, all);
    case Op::kMin: return of_min(of[0], of[1]);
    case Op::kMax: return of_max(of[0], of[1]);
    case Op::kSelect: return of_select(of[1], of[2]);
    case Op::kAnd: {  // a bit that one operand never has is not set
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
      const int count = static_cast<int>(static_cast<std::int64_t>(of[1].least) & 31);
      return {std::floor(std::ldexp(of[0].least, -count)), std::floor(std::ldexp(of[0].most, -count))};
    }
    case Op::kConvert: {
      if (graph[value.arguments[0]].type == kBoolType) return {0, std::min(1.0, all.most)};
      const Range fits = {std::clamp(std::trunc(of[0].least), all.least, all.most),
                          std::clamp(std::trunc(of[0].most), all.least, all.most)};
      return of[0].may_be_nan ? of_select(fits, {0, 0}) : fits;
    }
    default: return all;
  }
}

}  // namespace

std::vector<Range> ranges_of(const Graph& graph) {
  std::vector<Range> known;
  for (const Value& value : graph.values()) {
    if (value.type == kBoolType) {
      known.push_back({0, 1});
    } else if (value.kind == Value::Kind::kConstant) {
      known.push_back({value.number, value.number, std::isnan(value.number)});
    } else if (value.kind == Value::Kind::kSpread) {
      known.push_back(known[value.arguments[0]]);
    } else if (value.kind == Value::Kind::kCompute) {
      known.push_back(value.type.is_float() ? of_float(graph, value, known) : of_integer(graph, value, known));
    } else {
      known.push_back(of_type(value.type));
    }
  }
  return known;
}

}  // namespace casync::compll
