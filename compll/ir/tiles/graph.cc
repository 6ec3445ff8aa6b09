// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/tiles/graph.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace casync::compll {
namespace {

/// The fields in which two values agree if they are the same.
std::vector<std::uint64_t> key_of(const Value& value) {
  std::vector<std::uint64_t> key = {static_cast<std::uint64_t>(value.kind),
                                    static_cast<std::uint64_t>(value.domain),
                                    static_cast<std::uint64_t>(value.type.kind) << 8 | value.type.bits,
                                    std::bit_cast<std::uint64_t>(value.number),
                                    value.parameter,
                                    value.section,
                                    value.state,
                                    static_cast<std::uint64_t>(value.op),
                                    value.purpose,
                                    static_cast<std::uint64_t>(value.reducer),
                                    static_cast<std::uint64_t>(value.over),
                                    value.function,
                                    value.rotated.value,
                                    value.rotated.parameter ? *value.rotated.parameter + 1 : 0};
  key.insert(key.end(), value.arguments.begin(), value.arguments.end());
  return key;
}

/// Returns true if converting to `to` changes no value of `from`.
bool holds_all(ScalarType to, ScalarType from) {
  if (from == kBoolType) return to.is_number() && !(to.kind == ScalarType::Kind::kInt && to.bits == 1);
  return from.is_integer() && to.is_integer() && least_of(to) <= least_of(from) && most_of(from) <= most_of(to);
}

}  // namespace

ValueId Graph::add(Value value) {
  if (value.kind == Value::Kind::kCompute) {
    if (const std::optional<ValueId> constant = folded(value)) return *constant;
    if (const std::optional<ValueId> simpler = simplified(value)) return *simpler;
    if (const std::optional<ValueId> block = hoisted(value)) return *block;
  }
  const auto [known, is_new] = known_.try_emplace(key_of(value), static_cast<ValueId>(values_.size()));
  if (is_new) values_.push_back(std::move(value));
  return known->second;
}

std::uint32_t Graph::add(ReducerFunction function) {
  functions_.push_back(std::move(function));
  return static_cast<std::uint32_t>(functions_.size() - 1);
}

ValueId Graph::constant(ScalarType type, double number, Span at) {
  Value value;
  value.type = type;
  value.number = number;
  value.at = at;
  return add(std::move(value));
}

ValueId Graph::compute(Op op, ScalarType type, std::vector<ValueId> arguments, Span at) {
  Value value;
  value.kind = Value::Kind::kCompute;
  value.op = op;
  value.type = type;
  for (const ValueId id : arguments) value.domain = std::max(value.domain, values_[id].domain);
  value.arguments = std::move(arguments);
  value.at = at;
  return add(std::move(value));
}

void Graph::name(ValueId id, const std::string& word) {
  if (values_[id].name.empty()) values_[id].name = word;
}

bool Graph::has_transforms() const {
  return std::any_of(values_.begin(), values_.end(),
                     [](const Value& value) { return value.kind == Value::Kind::kTransform; });
}

/// Folds an operation on constants, a choice with a constant condition, and a choice between equal values.
std::optional<ValueId> Graph::folded(const Value& value) {
  const std::vector<ValueId>& arguments = value.arguments;
  if (arguments.empty()) return std::nullopt;  // random
  if (value.op == Op::kSelect) {
    if (arguments[1] == arguments[2]) return arguments[1];
    if (!is_constant(arguments[0])) return std::nullopt;
    return values_[arguments[0]].number != 0 ? arguments[1] : arguments[2];
  }
  if (value.op == Op::kConvert && values_[arguments[0]].type == value.type) return arguments[0];
  if (!std::all_of(arguments.begin(), arguments.end(), [&](ValueId id) { return is_constant(id); }))
    return std::nullopt;
  const ScalarType from = values_[arguments[0]].type;
  std::vector<Scalar> operands;
  for (const ValueId id : arguments) operands.push_back(Scalar::of(from, values_[id].number));
  const Scalar result =
      value.op == Op::kConvert ? converted(operands[0], from, value.type) : computed(value.op, from, operands);
  // A NaN has bits, and `number` would lose them.
  if (value.type.is_float() && result.as_number(value.type) != result.as_number(value.type)) return std::nullopt;
  return constant(value.type, result.as_number(value.type), value.at);
}

/// Simplifies the choices that branches became: choices between true and false, bools as numbers and back.
std::optional<ValueId> Graph::simplified(const Value& value) {
  const std::vector<ValueId>& arguments = value.arguments;
  const auto constant_is = [&](ValueId id, double number) { return is_constant(id) && values_[id].number == number; };
  if (value.op == Op::kSelect && value.type == kBoolType) {
    if (constant_is(arguments[1], 1) && constant_is(arguments[2], 0)) return arguments[0];
    if (constant_is(arguments[1], 0) && constant_is(arguments[2], 1)) {
      return compute(Op::kNot, kBoolType, {arguments[0]}, value.at);
    }
  }
  if (value.op == Op::kNot && is_compute(arguments[0], Op::kNot)) return values_[arguments[0]].arguments[0];
  if (value.op == Op::kConvert && is_compute(arguments[0], Op::kConvert)) {
    // A conversion through a type that holds all values of the first type.
    const ValueId first = values_[arguments[0]].arguments[0];
    if (holds_all(values_[arguments[0]].type, values_[first].type)) {
      return compute(Op::kConvert, value.type, {first}, value.at);
    }
  }
  if (value.op == Op::kEqual && is_compute(arguments[0], Op::kConvert)) {
    const ValueId flag = values_[arguments[0]].arguments[0];
    if (values_[flag].type == kBoolType && constant_is(arguments[1], 1)) return flag;
    if (values_[flag].type == kBoolType && constant_is(arguments[1], 0)) {
      return compute(Op::kNot, kBoolType, {flag}, value.at);
    }
  }
  return std::nullopt;
}

/// Computes a value that is the same for all elements of a block once for the block, and spreads it.
std::optional<ValueId> Graph::hoisted(const Value& value) {
  if (value.domain != Domain::kElement || value.arguments.empty()) return std::nullopt;
  Value of_block = value;
  for (ValueId& id : of_block.arguments) {
    const Value& argument = values_[id];
    if (argument.domain == Domain::kElement && argument.kind != Value::Kind::kSpread) return std::nullopt;
    if (argument.kind == Value::Kind::kSpread) id = argument.arguments.front();
  }
  of_block.domain = Domain::kBlock;
  Value spread;
  spread.kind = Value::Kind::kSpread;
  spread.domain = Domain::kElement;
  spread.type = value.type;
  spread.at = value.at;
  spread.arguments = {add(std::move(of_block))};
  return add(std::move(spread));
}

}  // namespace casync::compll
