// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cuda/expression.h"

#include <algorithm>
#include <cmath>

#include "compll/codegen/text/operation_text.h"

namespace casync::compll {
namespace {

/// Operators of int may not wrap.
std::string_view cuda_sign(Op op, ScalarType type) {
  const bool may_wrap = op == Op::kAdd || op == Op::kSubtract || op == Op::kMultiply;
  return may_wrap && type.kind == ScalarType::Kind::kInt ? "" : sign_of(op, type);
}

/// Returns true if the text binds as a name does: one word, or one call.
bool is_closed(const std::string& text) {
  if (text.find_first_of(" -!~") == text.npos) return true;
  const std::size_t open = text.find('(');
  if (open == text.npos || text.find_first_of(" -!~") < open) return false;
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth == 0) return i + 1 == text.size();
  }
  return false;
}

bool is_arithmetic(Op op) {
  return op == Op::kAdd || op == Op::kSubtract || op == Op::kMultiply || op == Op::kDivide || op == Op::kNegate;
}
bool is_rounding(Op op) { return op == Op::kFloor || op == Op::kCeil || op == Op::kRound || op == Op::kSqrt; }

}  // namespace

std::string_view cuda_function(Op op, ScalarType type) {
  switch (op) {
    case Op::kNegate: return "negated";
    case Op::kAdd: return "add";
    case Op::kSubtract: return "subtract";
    case Op::kMultiply: return "multiply";
    case Op::kDivide: return type.is_float() ? "divide" : "quotient";
    default: return function_of(op);
  }
}

void CudaExpression::write_seen_as(const std::string& numbers) { of_seen_ = numbers; }

std::string CudaExpression::literal(const Value& value) {
  switch (value.type.kind) {
    case ScalarType::Kind::kBool: return value.number != 0 ? "true" : "false";
    case ScalarType::Kind::kUint:
    case ScalarType::Kind::kInt: return integer_literal(value.type, value.number);
    default: break;
  }
  const bool is_float = value.type == kFloatType;
  std::string text = is_float ? "from_bits(0x7f800000u)" : "widened(from_bits(0x7f800000u))";
  if (!std::isinf(value.number)) {
    text = shortest(std::fabs(value.number));
    if (text.find_first_of(".e") == text.npos) text += ".0";
    if (is_float) text += "f";
  }
  return std::signbit(value.number) ? "(-" + text + ")" : text;
}

std::string CudaExpression::use(ValueId id) const {
  const std::string text = bare(id);
  return is_closed(text) || graph_[id].kind == Value::Kind::kConstant ? text : "(" + text + ")";
}

std::string CudaExpression::bare(ValueId id) const {
  const Value& value = graph_[id];
  if (value.kind == Value::Kind::kSpread) return bare(value.arguments.front());
  if (value.kind == Value::Kind::kConstant) return literal(value);
  return has_line(id) ? name(id) : operation(id);
}

std::string CudaExpression::operation(ValueId id) const {
  const Value& value = graph_[id];
  const auto operand = [&](std::size_t i) { return use(value.arguments[i]); };
  const ScalarType from = graph_[value.arguments.front()].type;
  const bool is_seen = values_.seen[id] && value.type.is_float();
  switch (value.op) {
    case Op::kNot: return "!" + operand(0);
    case Op::kComplement: return "~" + operand(0);
    case Op::kConvert: return conversion(id);
    case Op::kSelect: return operand(0) + " ? " + operand(1) + " : " + operand(2);
    case Op::kDivide:
      if (const std::string easy = division(id); !easy.empty()) return easy;
      break;
    case Op::kNegate:
      if (from.is_float() && !is_seen) return negation_text(operand(0));
      break;
    default: break;
  }
  const std::string_view sign = is_seen && is_arithmetic(value.op) ? "" : cuda_sign(value.op, from);
  if (!sign.empty()) return operand(0) + " " + std::string(sign) + " " + operand(1);
  const bool is_made = is_seen && is_arithmetic(value.op) && value.op != Op::kNegate;
  std::string call = (is_made ? numbers(id) : "") + std::string(cuda_function(value.op, from)) +
                     (is_of_numbers(id) ? "_of_numbers(" : "(") + bare(value.arguments[0]);
  for (std::size_t i = 1; i < value.arguments.size(); ++i) call += ", " + bare(value.arguments[i]);
  call += ")";
  return is_seen && is_rounding(value.op) ? numbers(id) + "or_nan(" + call + ", " + bare(value.arguments[0]) + ")"
                                          : call;
}

/// Returns true if the min or max of floats takes one instruction, which is wrong for two zeros or a NaN in front.
bool CudaExpression::is_of_numbers(ValueId id) const {
  const Value& value = graph_[id];
  if ((value.op != Op::kMin && value.op != Op::kMax) || value.type != kFloatType) return false;
  const auto is_constant = [&](ValueId argument) {
    return graph_[argument].kind == Value::Kind::kConstant && graph_[argument].number != 0;
  };
  return !values_.of.ranges[value.arguments[0]].may_be_nan &&
         (is_constant(value.arguments[0]) || is_constant(value.arguments[1]));
}

/// Division by a constant that needs no check of magnitudes; "" if that is not certain.
std::string CudaExpression::division(ValueId id) const {
  const Value& value = graph_[id];
  const ValueId upper = value.arguments[0];
  const Value& by = graph_[value.arguments[1]];
  if (!value.type.is_float() || by.kind != Value::Kind::kConstant) return "";
  if (!(std::fabs(by.number) >= 1) || !(std::fabs(by.number) < 0x1p30)) return "";
  const auto call = [&](const char* function) {
    return std::string(function) + "(" + bare(upper) + ", " + literal(by) + ")";
  };
  int looked_at = 0;
  if (value.type == kDoubleType) return is_mild(upper, 4, looked_at) ? call("divide_mild") : "";
  const Value& made = graph_[upper];
  if (made.kind != Value::Kind::kCompute || made.op != Op::kConvert) return "";
  const ValueId from = made.arguments.front();
  const Range& range = values_.of.ranges[from];
  const bool is_small = graph_[from].type.is_integer() && std::max(-range.least, range.most) <= 0x1p24;
  return is_small ? call("divide_whole") : "";
}

/// Returns true if the value is made of floats and integers by sums and products of at most so many factors, and of few
/// enough operations. A sum of a sum with itself is looked at twice.
bool CudaExpression::is_mild(ValueId id, int factors, int& looked_at) const {
  constexpr int kMostLookedAt = 256;
  const Value& value = graph_[id];
  if (++looked_at > kMostLookedAt) return false;
  if (value.kind == Value::Kind::kSpread) return is_mild(value.arguments.front(), factors, looked_at);
  if (value.kind == Value::Kind::kConstant) {
    // A double that is computed from constants may be too small for any float: a product with it may be denormal.
    const double size = std::fabs(value.number);
    return size == 0 || (size >= 0x1p-149 && size < 0x1p30);
  }
  if (value.kind != Value::Kind::kCompute || factors == 0) return false;
  const auto each = [&](int of_each) {
    return std::all_of(value.arguments.begin(), value.arguments.end(),
                       [&](ValueId argument) { return is_mild(argument, of_each, looked_at); });
  };
  switch (value.op) {
    case Op::kConvert: return graph_[value.arguments.front()].type != kDoubleType;
    case Op::kAdd:
    case Op::kSubtract:
    case Op::kNegate: return each(factors);
    case Op::kMultiply: return each(factors / 2);
    default: return false;
  }
}

/// Integers of fewer bits are kept in 32: if the range fits, no conversion is needed.
std::string CudaExpression::conversion(ValueId id) const {
  const Value& value = graph_[id];
  const std::string operand = bare(value.arguments.front());
  const ScalarType from = graph_[value.arguments.front()].type, to = value.type;
  if (to == kBoolType) return "to_bool(" + operand + ")";
  if (to == kTritType) return "to_trit(" + operand + ")";
  if (to.is_float() && from.is_float()) {
    const bool kept = values_.seen[id];
    if (to == kDoubleType) return (kept ? numbers(id) + "widened(" : "double(") + operand + ")";
    return (kept ? numbers(id) + "narrowed(" : "float(") + operand + ")";
  }
  if (to.is_float()) return type_text(to) + "(" + operand + ")";
  const Range& range = values_.of.ranges[value.arguments.front()];
  const bool fits = from.is_integer() && range.least >= static_cast<double>(least_of(to)) &&
                    range.most <= static_cast<double>(most_of(to));
  if (fits && from.kind == to.kind) return use(value.arguments.front());
  if (fits) return type_text(to) + "(" + operand + ")";
  const std::string width = to.bits == 32 ? "" : "<" + std::to_string(to.bits) + ">";
  const std::string word = (to.kind == ScalarType::Kind::kInt ? "to_int" : "to_uint") + width;
  const Value& made = graph_[value.arguments.front()];
  if (from == kFloatType && !has_line(value.arguments.front())) {
    if (is_rounded(value.arguments.front())) return "round_" + word + "(" + bare(made.arguments.front()) + ")";
    // A choice between such a value and zero.
    if (made.kind == Value::Kind::kCompute && made.op == Op::kSelect && is_rounded(made.arguments[1]) &&
        !has_line(made.arguments[1]) && graph_[made.arguments[2]].kind == Value::Kind::kConstant &&
        graph_[made.arguments[2]].number == 0) {
      return use(made.arguments[0]) + " ? round_" + word + "(" + bare(graph_[made.arguments[1]].arguments.front()) +
             ") : 0";
    }
  }
  return word + "(" + operand + ")";
}

bool CudaExpression::is_rounded(ValueId id) const {
  return graph_[id].kind == Value::Kind::kCompute && graph_[id].op == Op::kRound;
}

}  // namespace casync::compll
