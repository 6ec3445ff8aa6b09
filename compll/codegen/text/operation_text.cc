// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/text/operation_text.h"

#include <charconv>
#include <cmath>
#include <cstdint>

namespace casync::compll {
std::string shortest(double value) {
  char text[64];
  return {text, std::to_chars(text, text + sizeof(text), value).ptr};
}

std::string integer_literal(ScalarType type, double number) {
  if (number == -2147483648.0) return "(-2147483647 - 1)";
  return std::to_string(static_cast<std::int64_t>(number)) + (type.kind == ScalarType::Kind::kUint ? "u" : "");
}

std::string_view sign_of(Op op, ScalarType type) {
  const bool is_bool = type.kind == ScalarType::Kind::kBool;
  switch (op) {
    case Op::kDivide: return type.is_float() ? "/" : "";
    case Op::kAnd: return is_bool ? "&&" : "&";
    case Op::kOr: return is_bool ? "||" : "|";
    case Op::kXor: return is_bool ? "!=" : "^";
    default: return operation_of(op).sign;
  }
}

std::string_view function_of(Op op) { return operation_of(op).function; }

std::string type_text(ScalarType type) {
  switch (type.kind) {
    case ScalarType::Kind::kBool: return "bool";
    case ScalarType::Kind::kInt: return "int32_t";
    case ScalarType::Kind::kUint: return "uint32_t";
    case ScalarType::Kind::kFloat: return type == kDoubleType ? "double" : "float";
    case ScalarType::Kind::kVoid: break;
  }
  return "void";
}

std::string literal_text(ScalarType type, double number) {
  switch (type.kind) {
    case ScalarType::Kind::kBool: return number != 0 ? "true" : "false";
    case ScalarType::Kind::kUint:
    case ScalarType::Kind::kInt: return integer_literal(type, number);
    default: break;
  }
  const bool is_float = type == kFloatType;
  std::string text = std::isinf(number) ? "HUGE_VAL" : shortest(std::fabs(number));
  if (std::isinf(number)) {
    if (is_float) text = "float(HUGE_VAL)";
  } else {
    if (text.find_first_of(".e") == text.npos) text += ".0";
    if (is_float) text += "f";
  }
  return std::signbit(number) ? "(-" + text + ")" : text;
}

std::string finite_text(const Program& program, const std::string& top) {
  const double overflow = program.declares.overflow;
  return std::isinf(overflow) ? "is_finite(" + top + ")" : top + " < " + literal_text(kFloatType, overflow);
}

/// Integers of fewer bits are kept in 32: if the range fits, no conversion is needed.
std::string conversion_text(ScalarType from, ScalarType to, const std::string& operand) {
  if (to == kBoolType) return "to_bool(" + operand + ")";
  if (to == kDoubleType) return "to_double(" + operand + ")";
  if (to == kFloatType) return "to_float(" + operand + ")";
  const bool fits = from.is_integer() && least_of(from) >= least_of(to) && most_of(from) <= most_of(to);
  if (fits && from.kind == to.kind) return operand;
  if (fits) return "as_int(" + operand + ")";
  if (to == kTritType) return "to_trit(" + operand + ")";
  const std::string width = to.bits == 32 ? "" : "<" + std::to_string(to.bits) + ">";
  const std::string convert = to.kind == ScalarType::Kind::kInt ? "to_int" : "to_uint";
  // Wider integers have ends that are no floats.
  if (from.is_float() && to.bits >= 24 && to.bits < 32) return convert + width + "(" + convert + "(" + operand + "))";
  return convert + width + "(" + operand + ")";
}

std::string negation_text(const std::string& operand) {
  return operand.starts_with('-') ? "-(" + operand + ")" : "-" + operand;
}

std::string operation_text(Op op, ScalarType from, const std::vector<std::string>& operands) {
  const std::string sign(operands.size() == 2 ? sign_of(op, from) : "");
  if (!sign.empty()) return "(" + operands[0] + " " + sign + " " + operands[1] + ")";
  std::string text = std::string(function_of(op)) + "(";
  for (std::size_t i = 0; i < operands.size(); ++i) text += (i == 0 ? "" : ", ") + operands[i];
  return text + ")";
}

std::string reduction_text(const Term& term, const std::string& count, const std::string& from,
                           const std::function<std::string()>& fold) {
  const ScalarType element = term.arguments.front()->type().element;
  const std::string type = type_text(element), to_all = "(" + count + ", " + from;
  switch (term.reducer) {
    case Reducer::kSum:
      return element.is_float() ? "sum" + to_all + ")"
                                : "integer_sum<" + type_text(term.type().element) + ">" + to_all + ")";
    case Reducer::kMin:
    case Reducer::kMax: {
      const bool least = term.reducer == Reducer::kMin;
      const double most = static_cast<double>(least ? most_of(element) : least_of(element));
      const std::string limit = "std::numeric_limits<" + type + ">::infinity()";
      const std::string identity = element.is_float() ? (least ? limit : "-" + limit) : literal_text(element, most);
      return (least ? "least<" : "greatest<") + type + ">" + to_all + ", " + identity + ")";
    }
    case Reducer::kMagnitude: return "magnitude" + to_all + ")";
    case Reducer::kCount: return "count_of" + to_all + ")";
    case Reducer::kUser: return "folded<" + type + ">" + to_all + ", " + fold() + ")";
  }
  return "";
}

}  // namespace casync::compll
