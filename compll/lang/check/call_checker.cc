// SPDX-License-Identifier: Apache-2.0
#include "compll/lang/check/call_checker.h"

#include <array>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "base/nearest.h"
#include "compll/lang/check/code_checker.h"
#include "compll/lang/check/operator_checks.h"

namespace casync::compll {
namespace {

/// The greatest number of a `random<uint>(number)`.
constexpr double kMostNumber = 255;
/// The purpose of `random<uint>(0)`. Those of places without a number are below it.
constexpr std::uint32_t kFirstNumbered = 1 << 16;

/// A function of elements.
struct ElementFunction {
  std::string_view name;
  Op op;
  std::size_t operands;
  ScalarType takes;  ///< kVoidType: any number
  ScalarType gives;  ///< kVoidType: what it takes
};

// Functions of reals take a double as one, and anything else as a float.
constexpr auto kFunctions = std::to_array<ElementFunction>({
#define COMPLL_FUNCTION(word, id, operands, takes, gives) {#word, Op::k##id, operands, takes, gives},
#include "compll/lang/operators.def"
});

const ElementFunction* element_function(std::string_view name) {
  for (const ElementFunction& function : kFunctions) {
    if (function.name == name) return &function;
  }
  return nullptr;
}

}  // namespace

void CallChecker::need_arguments(const Expression& at, const Call& call, std::size_t least, std::size_t most,
                                 const std::string& form) {
  if (call.arguments.size() >= least && call.arguments.size() <= most) return;
  code_.refuse(at.at,
               "`" + std::string(call.callee.text) + "` with " + std::to_string(call.arguments.size()) + " arguments",
               "write `" + form + "`");
}

Terms CallChecker::check(const Expression& at, const Call& node) {
  const std::string_view name = node.callee.text;
  if (node.type != nullptr && name != "random") return terms(check_conversion(at, node));
  if (const Declared::Callable* what = code_.functions.callable(name)) {
    Terms arguments;
    for (const ExpressionPtr& argument : node.arguments) arguments.push_back(code_.expressions.check_one(*argument));
    return code_.functions.call(*what, name, std::move(arguments), at.at);
  }
  if (name == "random") return terms(random(at, node));
  if (const OperatorCall* known = operator_call(name)) return terms(check_operator(code_, *known, at, node));
  if (element_function(name) != nullptr) return terms(check_function(at, node));
  if (TypeChecker::named(name)) return terms(check_conversion(at, node));
  if (name == "concat") code_.refuse(at.at, "`concat` anywhere but in `compressed = concat(...);`");
  if (name == "extract") code_.refuse(at.at, "`extract` gives no value", "write `extract(compressed, a, b);`");
  if (SectionChecker::is_mark(name)) {
    code_.refuse(at.at, "`" + std::string(name) + "` anywhere but in `concat` and `extract`",
                 "it says how a section is coded: `compressed = concat(" + std::string(name) + "(codes));`");
  }
  refuse_word(node);
}

void CallChecker::refuse_word(const Call& node) {
  std::vector<std::string_view> known = code_.variables.names().all();
  for (const ElementFunction& function : kFunctions) known.push_back(function.name);
  for (const OperatorCall& each : operator_calls()) known.push_back(each.word);
  const std::string_view name = node.callee.text;
  code_.refuse(node.callee.at, "there is no function `" + std::string(name) + "`" + hint(name, known));
}

TermPtr CallChecker::check_conversion(const Expression& at, const Call& node) {
  need_arguments(at, node, 1, 1, std::string(node.callee.text) + "(x)");
  TermPtr value = code_.expressions.check_element(*node.arguments.front(), "`" + std::string(node.callee.text) + "`");
  const ScalarType type =
      node.type != nullptr ? code_.types.type_of(*node.type).element : *TypeChecker::named(node.callee.text);
  if (node.type != nullptr && node.type->array)
    code_.refuse(at.at, "a conversion to an array", "convert elements in a `map`");
  if (type == kVoidType) code_.refuse(at.at, "a conversion to `void`");
  return convert(std::move(value), type);
}

TermPtr CallChecker::check_function(const Expression& at, const Call& node) {
  const ElementFunction& function = *element_function(node.callee.text);
  const std::string name(function.name);
  need_arguments(at, node, function.operands, function.operands,
                 function.operands == 1 ? name + "(x)" : name + "(a, b)");
  Terms operands;
  ScalarType type = function.takes;
  for (const ExpressionPtr& argument : node.arguments) {
    operands.push_back(code_.expressions.check_element(*argument, "`" + name + "`"));
    if (function.takes == kVoidType) {
      const ScalarType own = operands.back()->type().element;
      type = type == kVoidType ? common_type(own, own) : common_type(type, own);
    }
  }
  const bool wide =
      function.takes == kFloatType && function.op != Op::kBits && operands.front()->type().element == kDoubleType;
  if (wide) type = kDoubleType;
  for (TermPtr& operand : operands) operand = convert(std::move(operand), type);
  const ScalarType gives = function.gives == kVoidType || (wide && function.gives.is_float()) ? type : function.gives;
  return make_term(function.op, at.at, {gives, {}}, std::move(operands));
}

/// `random<int>(least, most)`: a whole number from least to below most, in parts of 2^-24 of their distance. In
/// doubles, which hold both ends exactly; the part is too far below one for the product to be rounded up to `most`.
TermPtr CallChecker::random_whole(const Expression& at, const Call& node, ScalarType type, std::uint32_t purpose) {
  const auto end = [&](std::size_t i) {
    TermPtr value = convert(code_.expressions.check_element(*node.arguments[i], "`random`"), type);
    return code_.variables.keep(terms(convert(std::move(value), kDoubleType)), "end", at.at).front();
  };
  const Type real{kDoubleType, {}};
  const VariableId least = end(0), most = end(1);
  const auto low = [&] { return make_variable(at.at, least, real); };
  TermPtr width = make_term(Op::kSubtract, at.at, real, terms(make_variable(at.at, most, real), low()));
  width = make_term(Op::kMax, at.at, real, terms(std::move(width), make_constant(at.at, kDoubleType, 0)));
  TermPtr uniform = make_term(Op::kRandomUniform, at.at, {kFloatType, {}});
  uniform->purpose = purpose;
  TermPtr part =
      make_term(Op::kMultiply, at.at, real, terms(convert(std::move(uniform), kDoubleType), std::move(width)));
  part = make_term(Op::kFloor, at.at, real, terms(std::move(part)));
  return convert(make_term(Op::kAdd, at.at, real, terms(low(), std::move(part))), type);
}

/// `random<float>(least, most)` from least to below most: least + u * (most - least), each evaluated once. The sum may
/// be rounded up to most where least is not 0.
TermPtr CallChecker::random_real(const Expression& at, const Call& node, std::uint32_t purpose) {
  TermPtr least = convert(code_.expressions.check_element(*node.arguments[0], "`random`"), kFloatType);
  TermPtr most = convert(code_.expressions.check_element(*node.arguments[1], "`random`"), kFloatType);
  TermPtr uniform = make_term(Op::kRandomUniform, at.at, {kFloatType, {}});
  uniform->purpose = purpose;
  if (least->op == Op::kConstant && least->number == 0 && most->op == Op::kConstant && most->number == 1)
    return uniform;
  const VariableId low = code_.variables.keep(terms(std::move(least)), "least", at.at).front();
  const Type real{kFloatType, {}};
  TermPtr width = make_term(Op::kSubtract, at.at, real, terms(std::move(most), make_variable(at.at, low, real)));
  TermPtr part = make_term(Op::kMultiply, at.at, real, terms(std::move(uniform), std::move(width)));
  return make_term(Op::kAdd, at.at, real, terms(make_variable(at.at, low, real), std::move(part)));
}

/// `random<uint>(7)`: the purpose of all places with this number.
std::uint32_t CallChecker::numbered_purpose(const Call& node) {
  const double number = code_.types.constant(*node.arguments[0], "the number of `random`");
  if (!(number >= 0 && number <= kMostNumber && number == std::floor(number))) {
    code_.refuse(node.arguments[0]->at, "numbers of `random` are whole and go from 0 to 255");
  }
  return kFirstNumbered + static_cast<std::uint32_t>(number);
}

std::uint32_t CallChecker::new_purpose(Span at) {
  if (purposes_ == kFirstNumbered) {
    code_.refuse(at, "more than " + std::to_string(kFirstNumbered) + " random numbers for each element",
                 "call fewer functions that draw some, repeat less often");
  }
  return purposes_++;
}

/// `random<float>(least, most)`, `random<int>(least, most)`, `random<uint>()`, `random<uint>(7)`. Each place in the
/// program draws numbers of its own, but for the last.
TermPtr CallChecker::random(const Expression& at, const Call& node) {
  const DeclaredType type = node.type == nullptr ? DeclaredType{kFloatType, false} : code_.types.type_of(*node.type);
  if (code_.place.kind == RoutineKind::kDecode) {
    code_.refuse(at.at, "`random` in `decode`, which is told neither seed nor step",
                 "send a random number, and let `mixed` make many of it");
  }
  if (code_.place.level == 0) {
    code_.refuse(at.at, "`random` outside of a function that is applied to elements",
                 "each element has its own number: use it in the function of a `map`");
  }
  const bool numbered = type.element == kUintType && node.arguments.size() == 1;
  const std::uint32_t purpose = numbered ? numbered_purpose(node) : new_purpose(at.at);
  if (numbered || (type.element == kUintType && node.arguments.empty())) {
    TermPtr bits = make_term(Op::kRandomBits, at.at, {kUintType, {}});
    bits->purpose = purpose;
    return bits;
  }
  const bool whole = type.element == kIntType || type.element == kUintType;
  if ((type.element != kFloatType && !whole) || type.array) {
    code_.refuse(at.at, "random numbers are of type float, int or uint", "write `random<float>(0, 1)` and convert it");
  }
  need_arguments(at, node, 2, 2, whole ? "random<int>(0, 10)" : "random<float>(0, 1)");
  return whole ? random_whole(at, node, type.element, purpose) : random_real(at, node, purpose);
}

}  // namespace casync::compll
