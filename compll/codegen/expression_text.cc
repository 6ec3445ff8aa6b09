// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/expression_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <utility>

namespace casync::compll {
namespace {

std::string shortest(double value) {
  char text[64];
  return {text, std::to_chars(text, text + sizeof(text), value).ptr};
}

/// Between its two operands, or "" where the operation is a function.
std::string_view sign_of(Op op, bool is_float) {
  switch (op) {
    case Op::kAdd: return "+";
    case Op::kSubtract: return "-";
    case Op::kMultiply: return "*";
    case Op::kDivide: return is_float ? "/" : "";
    case Op::kEqual: return "==";
    case Op::kUnequal: return "!=";
    case Op::kLess: return "<";
    case Op::kLessEqual: return "<=";
    default: return "";
  }
}

std::string_view function_of(Op op) {
  switch (op) {
    case Op::kAbs: return "abs";
    case Op::kFloor: return "floor";
    case Op::kCeil: return "ceil";
    case Op::kRound: return "round_even";
    case Op::kSqrt: return "sqrt";
    case Op::kBits: return "bits";
    case Op::kFromBits: return "from_bits";
    case Op::kIsFinite: return "is_finite";
    case Op::kDivide: return "quotient";
    case Op::kRemainder: return "remainder";
    case Op::kShiftLeft: return "shift_left";
    case Op::kShiftRight: return "shift_right";
    case Op::kMin: return "min";
    case Op::kMax: return "max";
    case Op::kSelect: return "select";
    default: return "";
  }
}

std::string_view logic_of(Op op, bool is_bool) {
  if (op == Op::kAnd) return is_bool ? "&&" : "&";
  if (op == Op::kOr) return is_bool ? "||" : "|";
  if (op == Op::kXor) return is_bool ? "!=" : "^";
  return "";
}

}  // namespace

ExpressionText::ExpressionText(const Graph& graph, Idioms idioms)
    : graph_(graph),
      ranges_(ranges_of(graph)),
      idioms_(std::move(idioms)),
      uses_(graph.values().size(), 0),
      kept_(graph.values().size(), false) {
  for (ValueId user = 0; user < graph.values().size(); ++user) {
    const Value& value = graph[user];
    if (idioms_.replaced.contains(user)) continue;
    const auto idiom = idioms_.values.find(user);
    for (const ValueId id : idiom != idioms_.values.end() ? std::vector{idiom->second.argument} : value.arguments) {
      ++uses_[id];
      if (graph[id].domain != value.domain) kept_[id] = true;  // computed outside of the loop it is used in
    }
  }
}

std::string ExpressionText::type(ScalarType type, bool group) {
  switch (type.kind) {
    case ScalarType::Kind::kBool: return group ? "Bool" : "bool";
    case ScalarType::Kind::kInt: return group ? "Int" : "int32_t";
    case ScalarType::Kind::kUint: return group ? "Uint" : "uint32_t";
    case ScalarType::Kind::kFloat:
      if (type == kDoubleType) return group ? "Double" : "double";
      return group ? "Float" : "float";
    case ScalarType::Kind::kVoid: break;
  }
  return "void";
}

std::string ExpressionText::name(ValueId id) const {
  const std::string& word = graph_[id].name;
  return (word.empty() ? "v" : word + "_") + std::to_string(id);
}

bool ExpressionText::has_line(ValueId id) const {
  const Value& value = graph_[id];
  if (value.kind == Value::Kind::kConstant || value.kind == Value::Kind::kSpread) return false;
  if (idioms_.replaced.contains(id)) return false;
  return value.kind != Value::Kind::kCompute || kept_[id] || uses_[id] != 1 || value.arguments.empty();
}

std::string ExpressionText::use(ValueId id, bool group) const {
  const Value& value = graph_[id];
  if (value.kind == Value::Kind::kSpread) {
    return type(value.type, true) + "(" + use(value.arguments.front(), false) + ")";
  }
  if (group && value.domain != Domain::kElement) return type(value.type, true) + "(" + use(id, false) + ")";
  if (value.kind == Value::Kind::kConstant) return literal(value);
  if (has_line(id)) return name(id);
  const std::string inside = operation(id);
  return inside.find(' ') == inside.npos ? inside : "(" + inside + ")";
}

std::string ExpressionText::definition(ValueId id) const { return operation(id); }

std::string ExpressionText::literal(const Value& value) const {
  switch (value.type.kind) {
    case ScalarType::Kind::kBool: return value.number != 0 ? "true" : "false";
    case ScalarType::Kind::kUint: return shortest(value.number) + "u";
    case ScalarType::Kind::kInt: return value.number == -2147483648.0 ? "(-2147483647 - 1)" : shortest(value.number);
    default: break;
  }
  const bool is_float = value.type == kFloatType;
  std::string text = std::isinf(value.number) ? "HUGE_VAL" : shortest(std::fabs(value.number));
  if (std::isinf(value.number)) {
    if (is_float) text = "float(HUGE_VAL)";
  } else {
    if (text.find_first_of(".e") == text.npos) text += ".0";
    if (is_float) text += "f";
  }
  return std::signbit(value.number) ? "(-" + text + ")" : text;
}

std::string ExpressionText::operation(ValueId id) const {
  const Value& value = graph_[id];
  if (const auto idiom = idioms_.values.find(id); idiom != idioms_.values.end()) {
    return std::string(idiom->second.function) + "(" + use(idiom->second.argument, true) + ")";
  }
  const bool group = value.domain == Domain::kElement;
  const auto operand = [&](std::size_t i) { return use(value.arguments[i], group); };
  const ScalarType from = value.arguments.empty() ? value.type : graph_[value.arguments.back()].type;
  switch (value.op) {
    case Op::kNegate: return "-" + operand(0);
    case Op::kNot: return "!" + operand(0);
    case Op::kComplement: return "~" + operand(0);
    case Op::kConvert: return conversion(value, operand(0));
    default: break;
  }
  std::string_view sign = sign_of(value.op, from.is_float());
  if (sign.empty()) sign = logic_of(value.op, from.kind == ScalarType::Kind::kBool);
  if (!sign.empty()) return operand(0) + " " + std::string(sign) + " " + operand(1);
  std::string call(function_of(value.op));
  const bool shift = value.op == Op::kShiftLeft || value.op == Op::kShiftRight;
  if (shift && group && graph_[value.arguments[1]].kind == Value::Kind::kConstant) {
    const auto count = static_cast<unsigned>(static_cast<std::int64_t>(graph_[value.arguments[1]].number)) & 31;
    return call + "<" + std::to_string(count) + ">(" + operand(0) + ")";
  }
  call += "(" + operand(0);
  for (std::size_t i = 1; i < value.arguments.size(); ++i) call += ", " + operand(i);
  return call + ")";
}

/// Integers of fewer bits lie in 32: where the range fits, nothing has to be done.
std::string ExpressionText::conversion(const Value& value, const std::string& operand) const {
  const ScalarType from = graph_[value.arguments.front()].type, to = value.type;
  const bool group = value.domain == Domain::kElement;
  if (to == kBoolType) return "to_bool(" + operand + ")";
  if (to == kDoubleType) return "to_double(" + operand + ")";
  const Range known = ranges_[value.arguments.front()];
  const bool is_uint = from.kind == ScalarType::Kind::kUint;
  // Vectors convert signed numbers faster.
  const bool as_int = group && is_uint && known.most <= static_cast<double>(most_of(kIntType));
  if (to == kFloatType) return as_int ? "to_float(as_int(" + operand + "))" : "to_float(" + operand + ")";
  const bool fits = from.is_integer() && known.least >= static_cast<double>(least_of(to)) &&
                    known.most <= static_cast<double>(most_of(to));
  const std::string target = to.kind == ScalarType::Kind::kInt ? "int" : "uint";
  if (fits && from.kind == to.kind) return operand;
  if (fits)
    return group ? "as_" + target + "(" + operand + ")" : "static_cast<" + type(to, false) + ">(" + operand + ")";
  if (to == kTritType) return "to_trit(" + operand + ")";
  const std::string width = to.bits == 32 ? "" : "<" + std::to_string(to.bits) + ">";
  return "to_" + target + width + "(" + operand + ")";
}

}  // namespace casync::compll
