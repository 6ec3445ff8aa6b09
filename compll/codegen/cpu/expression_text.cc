// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cpu/expression_text.h"

#include <algorithm>
#include <cstddef>

#include "compll/codegen/text/operation_text.h"

namespace casync::compll {
namespace {

/// Returns true if floats of this range convert to the type without a check, and an int can hold them.
bool fits_int(const Range& known, ScalarType to) {
  return !known.may_be_nan && known.least >= static_cast<double>(least_of(to)) &&
         known.most <= static_cast<double>(std::min(most_of(to), most_of(kIntType)));
}

}  // namespace

std::string ExpressionText::type(ScalarType type, bool group) {
  if (!group) return type_text(type);
  switch (type.kind) {
    case ScalarType::Kind::kBool: return "Bool";
    case ScalarType::Kind::kInt: return "Int";
    case ScalarType::Kind::kUint: return "Uint";
    case ScalarType::Kind::kFloat: return type == kDoubleType ? "Double" : "Float";
    case ScalarType::Kind::kVoid: break;
  }
  return "void";
}

std::string ExpressionText::use(ValueId id, bool group) const {
  const Value& value = graph_[id];
  if (value.kind == Value::Kind::kSpread) {
    const std::string one = use(value.arguments.front(), false);
    return value.domain == Domain::kElement ? type(value.type, true) + "(" + one + ")" : one;
  }
  if (group && value.domain != Domain::kElement) return type(value.type, true) + "(" + use(id, false) + ")";
  if (value.kind == Value::Kind::kConstant) return literal_text(value.type, value.number);
  if (values_.has_line[id]) return name(id);
  const std::string inside = operation(id);
  return inside.find(' ') == inside.npos ? inside : "(" + inside + ")";
}

std::string ExpressionText::definition(ValueId id) const { return operation(id); }

std::string ExpressionText::operation(ValueId id) const {
  const Value& value = graph_[id];
  if (const auto idiom = values_.idioms.values.find(id); idiom != values_.idioms.values.end()) {
    return std::string(idiom->second.function) + "(" + use(idiom->second.argument, true) + ")";
  }
  const bool group = value.domain == Domain::kElement;
  const auto operand = [&](std::size_t i) { return use(value.arguments[i], group); };
  const ScalarType from = value.arguments.empty() ? value.type : graph_[value.arguments.back()].type;
  switch (value.op) {
    case Op::kNegate: return negation_text(operand(0));
    case Op::kNot: return "!" + operand(0);
    case Op::kComplement: return "~" + operand(0);
    case Op::kConvert: return conversion(value, operand(0));
    default: break;
  }
  const std::string_view sign = sign_of(value.op, from);
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

/// Integers of fewer bits are kept in 32: if the range fits, no conversion is needed.
std::string ExpressionText::conversion(const Value& value, const std::string& operand) const {
  const ScalarType from = graph_[value.arguments.front()].type, to = value.type;
  const bool group = value.domain == Domain::kElement;
  if (to == kBoolType) return "to_bool(" + operand + ")";
  if (to == kDoubleType) return "to_double(" + operand + ")";
  const Range known = values_.ranges[value.arguments.front()];
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
  if (group && from == kFloatType && fits_int(known, to)) {
    const std::string inside = "truncated(" + operand + ")";
    return to.kind == ScalarType::Kind::kInt ? inside : "as_uint(" + inside + ")";
  }
  const std::string width = to.bits == 32 ? "" : "<" + std::to_string(to.bits) + ">";
  return "to_" + target + width + "(" + operand + ")";
}

}  // namespace casync::compll
