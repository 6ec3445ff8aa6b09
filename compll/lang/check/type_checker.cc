// SPDX-License-Identifier: Apache-2.0
#include "compll/lang/check/type_checker.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "compll/lang/check/code_checker.h"
#include "compll/lang/syntax/diagnostic.h"

namespace casync::compll {

std::optional<ScalarType> TypeChecker::named(std::string_view name) {
  if (name == "float") return kFloatType;
  if (name == "double") return kDoubleType;
  if (name == "int") return kIntType;
  if (name == "uint") return kUintType;
  if (name == "bool") return kBoolType;
  if (name == "trit") return kTritType;
  if (name == "void") return kVoidType;
  const bool is_unsigned = name.starts_with("uint");
  std::string_view digits = name.substr(std::min<std::size_t>(name.size(), is_unsigned ? 4 : 3));
  if ((!is_unsigned && !name.starts_with("int")) || digits.empty() || digits.size() > 2 || digits[0] == '0') return {};
  int bits = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return {};
    bits = 10 * bits + (c - '0');
  }
  if (bits > 32) return {};
  return ScalarType{is_unsigned ? ScalarType::Kind::kUint : ScalarType::Kind::kInt, static_cast<std::uint8_t>(bits)};
}

DeclaredType TypeChecker::type_of(const TypeName& name) {
  std::optional<ScalarType> type = named(name.name.text);
  if (!type) {
    code_.refuse(name.name.at, "there is no type `" + std::string(name.name.text) + "`",
                 "types are float, double, int, uint, bool, trit, int1 to int32 and uint1 to uint32");
  }
  if (name.width != nullptr) {
    if (*type != kIntType && *type != kUintType) {
      code_.refuse(name.at, "a width of `" + text_of(*type) + "`", "`int<bits>` and `uint<bits>` have one");
    }
    const double bits = constant(*name.width, "the width of a type");
    if (!(bits >= 1 && bits <= 32) || bits != std::floor(bits)) {
      code_.refuse(name.width->at, "a width of " + number_text(bits) + " bits", "integers have 1 to 32 bits");
    }
    type->bits = static_cast<std::uint8_t>(bits);
  }
  if (*type == kVoidType && name.array) code_.refuse(name.at, "an array of nothing", "write `float*`");
  return {*type, name.array};
}

std::optional<ParameterId> TypeChecker::parameter_of(const ParameterList& block, std::string_view name) const {
  const auto is_it = [&](const Parameter& each) { return each.variable.name.text == name; };
  if (std::none_of(block.list.begin(), block.list.end(), is_it)) return {};
  const std::vector<ProgramParameter>& all = code_.program.parameters;
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& each) { return each.name == name; });
  return found == all.end() ? std::nullopt : std::optional(static_cast<ParameterId>(found - all.begin()));
}

/// The parameter in `bitwidth` or `params.bitwidth`, or the one that a variable of decode is extracted from.
std::optional<ParameterId> TypeChecker::parameter_in(const Expression& expression) const {
  const auto* member = std::get_if<Member>(&expression.node);
  const auto* name = std::get_if<Name>(member == nullptr ? &expression.node : &member->of->node);
  const Declared* declared = name == nullptr ? nullptr : code_.variables.names().find(name->text);
  if (declared == nullptr) return {};
  const auto* block = std::get_if<Declared::ParameterBlock>(&declared->what);
  if (member != nullptr) return block == nullptr ? std::nullopt : parameter_of(*block->block, member->name.text);
  if (const auto* parameter = std::get_if<Declared::ParameterName>(&declared->what)) return parameter->id;
  const auto extracted = extracted_.find(declared->at.begin);
  const bool is_extracted = std::holds_alternative<Declared::Variable>(declared->what) && extracted != extracted_.end();
  return is_extracted ? std::optional(extracted->second) : std::nullopt;
}

double TypeChecker::value_of(const Expression& expression, const std::string& what, bool rounds_down) {
  if (const auto* number = std::get_if<Number>(&expression.node)) return number->value;
  if (const std::optional<ParameterId> id = parameter_in(expression)) {
    ProgramParameter& parameter = code_.program.parameters[*id];
    parameter.fixed = true;
    return parameter.initial;
  }
  if (const auto* name = std::get_if<Name>(&expression.node)) {
    code_.refuse(expression.at, what + " has to be a constant, `" + std::string(name->text) + "` is not",
                 "use a number or a parameter");
  }
  if (const auto* unary = std::get_if<Unary>(&expression.node); unary != nullptr && unary->sign == "-") {
    return -value_of(*unary->operand, what, rounds_down);
  }
  if (const auto* binary = std::get_if<Binary>(&expression.node)) {
    const double left = value_of(*binary->left, what, rounds_down);
    const double right = value_of(*binary->right, what, rounds_down);
    if (binary->sign == "+") return left + right;
    if (binary->sign == "-") return left - right;
    if (binary->sign == "*") return left * right;
    if (binary->sign == "/" && right != 0) return rounds_down ? std::floor(left / right) : left / right;
    if (binary->sign == "<<" && left >= 0 && left < 65536 && right >= 0 && right < 32)
      return std::ldexp(left, int(right));
  }
  code_.refuse(expression.at, what + " is no constant", "use numbers, parameters and + - * / <<");
}

}  // namespace casync::compll
