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

/// `params.bitwidth`, where `params` is a block of parameters; else null.
const Word* TypeChecker::parameter_of_block(const Expression& expression) const {
  const auto* member = std::get_if<Member>(&expression.node);
  const auto* name = member == nullptr ? nullptr : std::get_if<Name>(&member->of->node);
  const Declared* declared = name == nullptr ? nullptr : code_.variables.names().find(name->text);
  const auto* block = declared == nullptr ? nullptr : std::get_if<Declared::ParameterBlock>(&declared->what);
  if (block == nullptr) return nullptr;
  const auto is_it = [&](const Parameter& each) { return each.variable.name.text == member->name.text; };
  const std::vector<Parameter>& list = block->block->list;
  return std::any_of(list.begin(), list.end(), is_it) ? &member->name : nullptr;
}

double TypeChecker::known_value(const Expression& at, const Name& name, const std::string& what) {
  const auto known = known_.find(name.text);
  const std::string text(name.text);
  if (known == known_.end()) {
    code_.refuse(at.at, what + " has to be a constant, `" + text + "` is not", "use a number or a parameter");
  }
  if (std::isnan(known->second)) {
    code_.refuse(at.at, what + " is made of `" + text + "`, which has no value",
                 "give it one: `" + text + "=2` where the codec is named, or a default where it is declared");
  }
  for (ProgramParameter& parameter : code_.program.parameters) parameter.fixed |= parameter.name == name.text;
  return known->second;
}

double TypeChecker::constant(const Expression& expression, const std::string& what) {
  if (const auto* number = std::get_if<Number>(&expression.node)) return number->value;
  if (const Word* word = parameter_of_block(expression)) return constant({word->at, Name{word->text}}, what);
  if (const auto* name = std::get_if<Name>(&expression.node)) return known_value(expression, *name, what);
  if (const auto* unary = std::get_if<Unary>(&expression.node); unary != nullptr && unary->sign == "-") {
    return -constant(*unary->operand, what);
  }
  if (const auto* binary = std::get_if<Binary>(&expression.node)) {
    const double left = constant(*binary->left, what), right = constant(*binary->right, what);
    if (binary->sign == "+") return left + right;
    if (binary->sign == "-") return left - right;
    if (binary->sign == "*") return left * right;
    if (binary->sign == "/" && right != 0) return left / right;
    if (binary->sign == "<<" && left >= 0 && left < 65536 && right >= 0 && right < 32)
      return std::ldexp(left, int(right));
  }
  code_.refuse(expression.at, what + " is no constant", "use numbers, parameters and + - * / <<");
}

}  // namespace casync::compll
