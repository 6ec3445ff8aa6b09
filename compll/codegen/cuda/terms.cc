// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cuda/terms.h"

#include <bit>
#include <cstdio>

#include "compll/codegen/cuda/expression.h"
#include "compll/codegen/text/operation_text.h"

namespace casync::compll {
namespace {

/// Operators of int must not wrap, and a compiler may contract those of floats.
std::string_view term_sign(Op op, ScalarType type) {
  const bool computes = op == Op::kAdd || op == Op::kSubtract || op == Op::kMultiply || op == Op::kDivide;
  return computes && type.kind != ScalarType::Kind::kUint ? "" : sign_of(op, type);
}

std::string_view term_function(Op op, ScalarType type) {
  switch (op) {
    case Op::kFloor: return "exact_floor";
    case Op::kCeil: return "exact_ceil";
    case Op::kRound: return "exact_round";
    case Op::kSqrt: return "exact_sqrt";
    default: return cuda_function(op, type);
  }
}

/// Text that is one word or one call, in parentheses otherwise.
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
  if (to.is_float()) return type_text(to) + "(" + operand + ")";
  const bool fits = from.is_integer() && least_of(from) >= least_of(to) && most_of(from) <= most_of(to);
  if (fits && from.kind == to.kind) return operand;
  if (fits) return type_text(to) + "(" + operand + ")";
  const std::string width = to.bits == 32 ? "" : "<" + std::to_string(to.bits) + ">";
  return (to.kind == ScalarType::Kind::kInt ? "to_int" : "to_uint") + width + "(" + operand + ")";
}

std::string cuda_operation(Op op, ScalarType from, const std::vector<std::string>& operands) {
  if (op == Op::kSelect) return closed(operands[0]) + " ? " + closed(operands[1]) + " : " + closed(operands[2]);
  if (op == Op::kNot) return "!" + closed(operands[0]);
  if (op == Op::kComplement) return "~" + closed(operands[0]);
  const std::string sign(operands.size() == 2 ? term_sign(op, from) : "");
  if (!sign.empty()) return closed(operands[0]) + " " + sign + " " + closed(operands[1]);
  std::string call = std::string(term_function(op, from)) + "(" + operands[0];
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
