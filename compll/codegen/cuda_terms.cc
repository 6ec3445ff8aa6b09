// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cuda_terms.h"

#include <bit>
#include <cstdio>

#include "compll/codegen/cuda_expression.h"

namespace casync::compll {
namespace {

/// Between its two operands, or "" where the operation is a function.
std::string sign_of(Op op, ScalarType type) {
  const bool is_bool = type.kind == ScalarType::Kind::kBool;
  const bool is_uint = type.kind == ScalarType::Kind::kUint;  // of int the operators may not wrap
  switch (op) {
    case Op::kAdd: return is_uint ? "+" : "";
    case Op::kSubtract: return is_uint ? "-" : "";
    case Op::kMultiply: return is_uint ? "*" : "";
    case Op::kEqual: return "==";
    case Op::kUnequal: return "!=";
    case Op::kLess: return "<";
    case Op::kLessEqual: return "<=";
    case Op::kAnd: return is_bool ? "&&" : "&";
    case Op::kOr: return is_bool ? "||" : "|";
    case Op::kXor: return is_bool ? "!=" : "^";
    default: return "";
  }
}

std::string function_of(Op op, ScalarType type) {
  switch (op) {
    case Op::kNegate: return "negated";
    case Op::kAdd: return "add";
    case Op::kSubtract: return "subtract";
    case Op::kMultiply: return "multiply";
    case Op::kDivide: return type.is_float() ? "divide" : "quotient";
    case Op::kRemainder: return "remainder";
    case Op::kAbs: return "abs";
    case Op::kFloor: return "exact_floor";
    case Op::kCeil: return "exact_ceil";
    case Op::kRound: return "exact_round";
    case Op::kSqrt: return "exact_sqrt";
    case Op::kBits: return "bits";
    case Op::kFromBits: return "from_bits";
    case Op::kIsFinite: return "is_finite";
    case Op::kShiftLeft: return "shift_left";
    case Op::kShiftRight: return "shift_right";
    case Op::kMin: return "min";
    case Op::kMax: return "max";
    default: return "";
  }
}

/// One word, or one call.
std::string closed(const std::string& text) {
  if (text.find_first_of(" !~") == text.npos) return text;
  const std::size_t open = text.find('(');
  int depth = 0;
  for (std::size_t i = open; open != text.npos && open <= text.find_first_of(" !~") && i < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth == 0) return i + 1 == text.size() ? text : "(" + text + ")";
  }
  return "(" + text + ")";
}

}  // namespace

std::string cuda_type(ScalarType type) { return CudaExpression::type(type); }

std::string cuda_bytes(const std::string& count, ScalarType type) {
  return std::string(type == kDoubleType ? "8" : type == kBoolType ? "1" : "4") + " * " + count;
}

std::string cuda_width(ScalarType type) { return type == kTritType ? "kTrits" : std::to_string(type.bits); }

std::string cuda_literal(ScalarType type, double number) {
  Value value;
  value.type = type;
  value.number = number;
  return CudaExpression::literal(value);
}

std::string cuda_conversion(ScalarType from, ScalarType to, const std::string& operand) {
  if (to == from) return operand;
  if (to == kBoolType) return "to_bool(" + operand + ")";
  if (to == kTritType) return "to_trit(" + operand + ")";
  if (to.is_float() && from.is_float()) return (to == kDoubleType ? "widened(" : "narrowed(") + operand + ")";
  if (to.is_float()) return cuda_type(to) + "(" + operand + ")";
  const bool fits = from.is_integer() && least_of(from) >= least_of(to) && most_of(from) <= most_of(to);
  if (fits && from.kind == to.kind) return operand;
  if (fits) return cuda_type(to) + "(" + operand + ")";
  const std::string width = to.bits == 32 ? "" : "<" + std::to_string(to.bits) + ">";
  return (to.kind == ScalarType::Kind::kInt ? "to_int" : "to_uint") + width + "(" + operand + ")";
}

std::string cuda_operation(Op op, ScalarType from, const std::vector<std::string>& operands) {
  if (op == Op::kSelect) return closed(operands[0]) + " ? " + closed(operands[1]) + " : " + closed(operands[2]);
  if (op == Op::kNot) return "!" + closed(operands[0]);
  if (op == Op::kComplement) return "~" + closed(operands[0]);
  const std::string sign = operands.size() == 2 ? sign_of(op, from) : "";
  if (!sign.empty()) return closed(operands[0]) + " " + sign + " " + closed(operands[1]);
  std::string call = function_of(op, from) + "(" + operands[0];
  for (std::size_t i = 1; i < operands.size(); ++i) call += ", " + operands[i];
  call += ")";
  return call;
}

std::string overflow_bits_text(const Program& program) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%08xu",
                std::bit_cast<std::uint32_t>(static_cast<float>(program.declares.overflow)));
  return text;
}

}  // namespace casync::compll
