// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/text/size_text.h"

#include <bit>
#include <cmath>
#include <cstdint>

#include "base/check.h"
#include "compll/codegen/text/operation_text.h"

namespace casync::compll {
namespace {

bool is_int(ScalarType type) { return type.kind == ScalarType::Kind::kInt; }
bool is_bool(ScalarType type) { return type.kind == ScalarType::Kind::kBool; }

std::string real_text(ScalarType type, double number) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(number));
  const std::string as_float = "wide::from_bits(" + std::to_string(bits) + "u)";
  if (type == kFloatType) return as_float;
  return std::isinf(number) ? "wide::to_double(" + as_float + ")" : "double(" + literal_text(type, number) + ")";
}

std::string constant_text(ScalarType type, double number) {
  if (type.is_float()) return real_text(type, number);
  if (is_bool(type)) return number != 0 ? "true" : "false";
  return (is_int(type) ? "wide::Int(" : "wide::Uint(") + std::to_string(static_cast<std::int64_t>(number)) + ")";
}

/// Integers of 32 bits have 64 here; narrower ones keep the ends of their range.
std::string converted_text(ScalarType to, const std::string& value) {
  if (to == kFloatType) return "wide::to_float(" + value + ")";
  if (to == kDoubleType) return "wide::to_double(" + value + ")";
  if (is_bool(to)) return "wide::to_bool(" + value + ")";
  const std::string least = std::to_string(least_of(to)), most = std::to_string(most_of(to));
  const bool whole = to == kIntType || to == kUintType;
  if (is_int(to))
    return "wide::to_int(" + value + (whole ? ")" : ", wide::Int(" + least + "), wide::Int(" + most + "))");
  return "wide::to_uint(" + value + (whole ? ")" : ", wide::Uint(" + most + "))");
}

std::string_view function_of_sizes(Op op) {
  switch (op) {
    case Op::kAdd: return "add";
    case Op::kSubtract: return "subtract";
    case Op::kMultiply: return "multiply";
    case Op::kDivide: return "divide";
    case Op::kNegate: return "negate";
    default: return function_of(op);
  }
}

std::string operator_of_sizes(Op op, ScalarType type) {
  const bool arithmetic = op == Op::kAdd || op == Op::kSubtract || op == Op::kMultiply || op == Op::kDivide;
  return arithmetic ? "" : std::string(sign_of(op, type));
}

}  // namespace

std::string size_text(const Term& size, const SizeNames& names) {
  const ScalarType type = size.type().element;
  switch (size.op) {
    case Op::kConstant: return constant_text(type, size.number);
    case Op::kParameter: return converted_text(type, names.parameter(size.parameter));
    case Op::kSize: return "wide::Uint(" + names.size(size.arguments.front()->type()) + ")";
    case Op::kRows: return "wide::Uint(" + names.rows + ")";
    case Op::kColumns: return "wide::Uint(" + names.columns + ")";
    default: break;
  }
  CASYNC_CHECK(!size.arguments.empty());
  std::vector<std::string> operands;
  for (const TermPtr& argument : size.arguments) operands.push_back(size_text(*argument, names));
  const ScalarType from = size.arguments.back()->type().element;
  if (size.op == Op::kConvert) return converted_text(type, operands[0]);
  if (size.op == Op::kSelect) return "(" + operands[0] + " ? " + operands[1] + " : " + operands[2] + ")";
  if (size.op == Op::kNot) return "(!" + operands[0] + ")";
  if (size.op == Op::kComplement) return "(~" + operands[0] + ")";
  const std::string sign = operands.size() == 2 ? operator_of_sizes(size.op, from) : "";
  if (!sign.empty()) return "(" + operands[0] + " " + sign + " " + operands[1] + ")";
  std::string call = "wide::" + std::string(function_of_sizes(size.op)) + "(" + operands[0];
  for (std::size_t i = 1; i < operands.size(); ++i) call += ", " + operands[i];
  return call + ")";
}

}  // namespace casync::compll
