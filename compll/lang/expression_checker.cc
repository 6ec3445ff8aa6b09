// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <span>

#include "base/nearest.h"
#include "compll/lang/arithmetic.h"
#include "compll/lang/code_checker.h"
#include "compll/lang/terms.h"

namespace casync::compll {
namespace {

struct ScalarFunction {
  std::string_view name;
  Op op;
  std::size_t operands;
  ScalarType takes;  ///< kVoidType: any number
  ScalarType gives;  ///< kVoidType: what it takes
};

// Functions of reals take a double as one, and anything else as a float.
constexpr auto kFunctions = std::to_array<ScalarFunction>({
#define COMPLL_FUNCTION(word, id, operands, takes, gives) {#word, Op::k##id, operands, takes, gives},
#include "compll/lang/operators.def"
});

const ScalarFunction* scalar_function(std::string_view name) {
  for (const ScalarFunction& function : kFunctions) {
    if (function.name == name) return &function;
  }
  return nullptr;
}

/// float, double, int, uint, bool, trit, int1..int32, uint1..uint32; `uint8` and the like need no width.
std::optional<ScalarType> named_type(std::string_view name) {
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

}  // namespace

DeclaredType CodeChecker::type_of(const TypeName& name) {
  std::optional<ScalarType> type = named_type(name.name.text);
  if (!type) {
    refuse(name.name.at, "there is no type `" + std::string(name.name.text) + "`",
           "types are float, double, int, uint, bool, trit, int1 to int32 and uint1 to uint32");
  }
  if (name.width != nullptr) {
    if (*type != kIntType && *type != kUintType) {
      refuse(name.at, "a width of `" + text_of(*type) + "`", "`int<bits>` and `uint<bits>` have one");
    }
    const double bits = constant(*name.width, "the width of a type");
    if (!(bits >= 1 && bits <= 32) || bits != std::floor(bits)) {
      refuse(name.width->at, "a width of " + number_text(bits) + " bits", "integers have 1 to 32 bits");
    }
    type->bits = static_cast<std::uint8_t>(bits);
  }
  if (*type == kVoidType && name.array) refuse(name.at, "an array of nothing", "write `float*`");
  return {*type, name.array};
}

/// `params.bitwidth`, where `params` is a block of parameters; else null.
const Word* CodeChecker::parameter_of_block(const Expression& expression) const {
  const auto* member = std::get_if<Member>(&expression.node);
  const auto* name = member == nullptr ? nullptr : std::get_if<Name>(&member->of->node);
  const Declared* declared = name == nullptr ? nullptr : names_.find(name->text);
  const auto* block = declared == nullptr ? nullptr : std::get_if<Declared::ParameterBlock>(&declared->what);
  if (block == nullptr) return nullptr;
  const auto named = [&](const Parameter& each) { return each.variable.name.text == member->name.text; };
  const std::vector<Parameter>& list = block->block->list;
  return std::any_of(list.begin(), list.end(), named) ? &member->name : nullptr;
}

double CodeChecker::constant(const Expression& expression, const std::string& what) {
  if (const auto* number = std::get_if<Number>(&expression.node)) return number->value;
  if (const Word* word = parameter_of_block(expression)) return constant({word->at, Name{word->text}}, what);
  if (const auto* name = std::get_if<Name>(&expression.node)) {
    const auto known = known_.find(name->text);
    if (known != known_.end() && std::isnan(known->second)) {
      refuse(expression.at, what + " is made of `" + std::string(name->text) + "`, which has no value",
             "give it one: `" + std::string(name->text) +
                 "=2` where the codec is named, or a default where it is declared");
    }
    if (known != known_.end()) {
      for (ProgramParameter& parameter : program_.parameters) parameter.fixed |= parameter.name == name->text;
      return known->second;
    }
    refuse(expression.at, what + " has to be known before the program runs, `" + std::string(name->text) + "` is not",
           "use a number or a parameter");
  }
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
  refuse(expression.at, what + " is no number that is known before the program runs",
         "use numbers, parameters and + - * / <<");
}

Terms CodeChecker::check_terms(const Expression& expression) {
  if (const auto* call = std::get_if<Call>(&expression.node)) return check_call(expression, *call);
  if (const auto* tuple = std::get_if<Tuple>(&expression.node)) {
    Terms parts;
    for (const ExpressionPtr& part : tuple->parts) parts.push_back(check_one(*part));
    return parts;
  }
  return terms(check_one(expression));
}

/// A value, an array or one element.
TermPtr CodeChecker::check_one(const Expression& expression) {
  return std::visit(
      [&](const auto& node) -> TermPtr {
        using Node = std::decay_t<decltype(node)>;
        if constexpr (std::is_same_v<Node, Call> || std::is_same_v<Node, Tuple>) {
          Terms values = check_terms(expression);
          if (values.size() != 1 || values.front()->types.size() != 1) {
            refuse(expression.at, values.empty() ? "this has no value" : "these are several values where one is needed",
                   "write `(float a, float b) = ...;` to give each a name");
          }
          return std::move(values.front());
        } else if constexpr (std::is_same_v<Node, Lambda>) {
          refuse(expression.at, "a function where a value is needed",
                 "give it to `map`, or name it with `lambda_func`");
        } else {
          return check_node(expression, node);
        }
      },
      expression.node);
}

TermPtr CodeChecker::check_element(const Expression& expression, const std::string& of) {
  TermPtr term = check_one(expression);
  if (term->type().is_array()) {
    refuse(expression.at, of + " works on one element, this is an array", "use `map` to do it to each element");
  }
  return term;
}

TermPtr CodeChecker::check_condition(const Expression& expression, const std::string& of) {
  return convert(check_element(expression, of), kBoolType);
}

TermPtr CodeChecker::check_array(const Expression& expression, const std::string& of) {
  TermPtr term = check_one(expression);
  if (!term->type().is_array()) refuse(expression.at, of + " needs an array, this is one element");
  return term;
}

TermPtr CodeChecker::check_node(const Expression& at, const Number& node) {
  if (node.real) return make_constant(at.at, kFloatType, static_cast<double>(static_cast<float>(node.value)));
  return make_constant(at.at, node.value > static_cast<double>(most_of(kIntType)) ? kUintType : kIntType, node.value);
}

TermPtr CodeChecker::check_node(const Expression& at, const Name& node) {
  const Declared* declared = names_.find(node.text);
  const std::string name = "`" + std::string(node.text) + "`";
  if (node.text == "true" || node.text == "false") return make_constant(at.at, kBoolType, node.text == "true" ? 1 : 0);
  if (declared == nullptr) refuse(at.at, "there is no " + name + hint(node.text, names_.all()));
  if (const auto* parameter = std::get_if<Declared::ParameterName>(&declared->what)) {
    TermPtr term = make_term(Op::kParameter, at.at, {program_.parameters[parameter->id].type, {}});
    term->parameter = parameter->id;
    return term;
  }
  if (const auto* dimension = std::get_if<Declared::DimensionName>(&declared->what)) {
    return make_term(dimension->dimension == Dimension::kRows ? Op::kRows : Op::kColumns, at.at, {kUintType, {}});
  }
  const auto* variable = std::get_if<Declared::Variable>(&declared->what);
  if (variable == nullptr) {
    refuse(at.at, name + " is no value",
           std::holds_alternative<Declared::Bytes>(declared->what) ? "take its sections with `extract`" : "");
  }
  if (spoilt_.count(variable->slot) != 0) throw CheckMistake();  // its own mistake was said where it was made
  if (!values_[variable->slot]) refuse(at.at, name + " has no value here", "assign it on every way to this place");
  const VariableId id = *values_[variable->slot];
  return make_variable(at.at, id, program_.variables[id].type);
}

TermPtr CodeChecker::check_node(const Expression& at, const Unary& node) {
  TermPtr operand = check_element(*node.operand, "`" + std::string(node.sign) + "`");
  if (node.sign == "!")
    return make_term(Op::kNot, at.at, {kBoolType, {}}, terms(convert(std::move(operand), kBoolType)));
  const ScalarType type = common_type(operand->type().element, kIntType);
  if (node.sign == "~" && type.is_float()) {
    refuse(at.at, "`~` of a float", "`bits(x)` gives a float's bits");
  }
  operand = convert(std::move(operand), type);
  if (operand->op == Op::kConstant && node.sign == "-") {
    if (operand->number == 2147483648.0) return make_constant(at.at, kIntType, -2147483648.0);
    const Scalar value = Scalar::of(type, operand->number);
    return make_constant(at.at, type, computed(Op::kNegate, type, {&value, 1}).as_number(type));
  }
  return make_term(node.sign == "-" ? Op::kNegate : Op::kComplement, at.at, {type, {}}, terms(std::move(operand)));
}

TermPtr CodeChecker::check_node(const Expression& at, const Binary& node) {
  const std::string quoted = "`" + std::string(node.sign) + "`";
  TermPtr left = check_element(*node.left, quoted), right = check_element(*node.right, quoted);
  return operation(at.at, node.sign, node.sign_at, std::move(left), std::move(right));
}

/// One of C's signs between two elements.
TermPtr CodeChecker::operation(Span at, std::string_view written, Span sign_at, TermPtr left, TermPtr right) {
  const SignWord& sign = *sign_word(written);
  const std::string quoted = "`" + std::string(written) + "`";
  if (sign.operands == OperandsOf::kBools) {
    return make_term(sign.op, at, {kBoolType, {}},
                     terms(convert(std::move(left), kBoolType), convert(std::move(right), kBoolType)));
  }
  ScalarType type = common_type(left->type().element, right->type().element);
  if (type.is_float() && (sign.operands == OperandsOf::kIntegers || sign.operands == OperandsOf::kShift)) {
    refuse(sign_at, quoted + " of a float", "it works on integers; `int(x)` makes one");
  }
  if (sign.operands == OperandsOf::kShift) {
    type = common_type(left->type().element, kIntType);
    return make_term(sign.op, at, {type, {}}, terms(convert(std::move(left), type), convert(std::move(right), type)));
  }
  left = convert(std::move(left), type);
  right = convert(std::move(right), type);
  if (sign.swapped) std::swap(left, right);
  const ScalarType result = sign.operands == OperandsOf::kCompared ? kBoolType : type;
  return make_term(sign.op, at, {result, {}}, terms(std::move(left), std::move(right)));
}

TermPtr CodeChecker::check_node(const Expression& at, const Conditional& node) {
  TermPtr condition = check_condition(*node.condition, "`?`");
  TermPtr yes = check_element(*node.yes, "`?`"), no = check_element(*node.no, "`?`");
  const ScalarType a = yes->type().element, b = no->type().element;
  const ScalarType type = a == b ? a : common_type(a, b);
  return make_select(at.at, std::move(condition), convert(std::move(yes), type), convert(std::move(no), type));
}

TermPtr CodeChecker::check_node(const Expression& at, const Index& node) {
  TermPtr array = check_array(*node.array, "`[]`");
  TermPtr index = check_element(*node.index, "an index");
  // `sorted[x.size * ratio]`: towards zero, as C converts.
  if (index->type().element.is_float()) index = convert(std::move(index), kIntType);
  if (!index->type().element.is_integer()) refuse(node.index->at, "an index that is no number");
  return element_of(std::move(array), std::move(index), at.at);
}

/// Converts the index to int or to uint: a negative one is outside, not at the first place.
TermPtr CodeChecker::element_of(TermPtr array, TermPtr index, Span at) {
  const Type type{array->type().element, {}};
  const ScalarType whole = common_type(index->type().element, index->type().element);
  return make_term(Op::kElement, at, type, terms(std::move(array), convert(std::move(index), whole)));
}

TermPtr CodeChecker::check_node(const Expression& at, const Member& node) {
  if (const auto* name = std::get_if<Name>(&node.of->node)) {
    const Declared* declared = names_.find(name->text);
    if (const auto* block = declared == nullptr ? nullptr : std::get_if<Declared::ParameterBlock>(&declared->what)) {
      for (const Parameter& parameter : block->block->list) {
        if (parameter.variable.name.text == node.name.text) return check_node(at, Name{node.name.text});
      }
      refuse(node.name.at, "`" + std::string(name->text) + "` has no parameter `" + std::string(node.name.text) + "`");
    }
  }
  if (node.name.text != "size") {
    refuse(node.name.at, "there is no `." + std::string(node.name.text) + "`", "an array has `.size`");
  }
  // The size of the output is known earlier than the output.
  const auto* output = std::get_if<Name>(&node.of->node);
  const bool known = makes_gradient() && output != nullptr && output->text == output_;
  TermPtr array = known ? make_variable(at.at, 0, {kFloatType, Extent{}}) : check_array(*node.of, "`.size`");
  TermPtr size = make_term(Op::kSize, at.at, {kUintType, {}});
  size->arguments = terms(std::move(array));
  return size;
}

void CodeChecker::need_arguments(const Expression& at, const Call& call, std::size_t least, std::size_t most,
                                 const std::string& form) {
  if (call.arguments.size() >= least && call.arguments.size() <= most) return;
  refuse(at.at, "`" + std::string(call.callee.text) + "` with " + std::to_string(call.arguments.size()) + " arguments",
         "write `" + form + "`");
}

Terms CodeChecker::check_call(const Expression& at, const Call& node) {
  const std::string_view name = node.callee.text;
  if (node.type != nullptr && name != "random") return terms(check_conversion(at, node));
  if (const Declared::Callable* what = callable(name)) {
    Terms arguments;
    for (const ExpressionPtr& argument : node.arguments) arguments.push_back(check_one(*argument));
    return call(*what, name, std::move(arguments), at.at);
  }
  if (name == "random") return terms(random(at, node));
  const auto known_operators = operators();
  if (std::find(known_operators.begin(), known_operators.end(), name) != known_operators.end())
    return check_operator(at, node);
  if (scalar_function(name) != nullptr) return terms(check_scalar_function(at, node));
  if (named_type(name)) return terms(check_conversion(at, node));
  if (name == "concat") refuse(at.at, "`concat` anywhere but in `compressed = concat(...);`");
  if (name == "extract") refuse(at.at, "`extract` gives no value", "write `extract(compressed, a, b);`");
  if (is_mark(name)) {
    refuse(at.at, "`" + std::string(name) + "` anywhere but in `concat` and `extract`",
           "it says how a section is coded: `compressed = concat(" + std::string(name) + "(codes));`");
  }
  std::vector<std::string_view> known = names_.all();
  for (const ScalarFunction& function : kFunctions) known.push_back(function.name);
  for (const std::string_view each : operators()) known.push_back(each);
  refuse(node.callee.at, "there is no function `" + std::string(name) + "`" + hint(name, known));
}

TermPtr CodeChecker::check_conversion(const Expression& at, const Call& node) {
  need_arguments(at, node, 1, 1, std::string(node.callee.text) + "(x)");
  TermPtr value = check_element(*node.arguments.front(), "`" + std::string(node.callee.text) + "`");
  const ScalarType type = node.type != nullptr ? type_of(*node.type).element : *named_type(node.callee.text);
  if (node.type != nullptr && node.type->array)
    refuse(at.at, "a conversion to an array", "convert elements in a `map`");
  if (type == kVoidType) refuse(at.at, "a conversion to `void`");
  return convert(std::move(value), type);
}

TermPtr CodeChecker::check_scalar_function(const Expression& at, const Call& node) {
  const ScalarFunction& function = *scalar_function(node.callee.text);
  const std::string name(function.name);
  need_arguments(at, node, function.operands, function.operands,
                 function.operands == 1 ? name + "(x)" : name + "(a, b)");
  Terms operands;
  ScalarType type = function.takes;
  for (const ExpressionPtr& argument : node.arguments) {
    operands.push_back(check_element(*argument, "`" + name + "`"));
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
/// doubles, which hold the product exactly.
TermPtr CodeChecker::random_whole(const Expression& at, const Call& node, ScalarType type, std::uint32_t purpose) {
  const auto end = [&](std::size_t i) {
    TermPtr value = convert(check_element(*node.arguments[i], "`random`"), type);
    return keep(terms(convert(std::move(value), kDoubleType)), "end", at.at).front();
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

/// `random<float>(least, most)` from least to below most; `random<int>(least, most)`; `random<uint>()`. Each place in
/// the program draws numbers of its own.
TermPtr CodeChecker::random(const Expression& at, const Call& node) {
  const DeclaredType type = node.type == nullptr ? DeclaredType{kFloatType, false} : type_of(*node.type);
  if (kind_ == RoutineKind::kDecode) {
    refuse(at.at, "`random` in `decode`, which is told neither seed nor step",
           "send a random number, and let `mixed` make many of it");
  }
  if (level_ == 0) {
    refuse(at.at, "`random` outside of a function that is applied to elements",
           "each element has its own number: use it in the function of a `map`");
  }
  const std::uint32_t purpose = purposes_++;
  if (type.element == kUintType && node.arguments.empty()) {
    TermPtr bits = make_term(Op::kRandomBits, at.at, {kUintType, {}});
    bits->purpose = purpose;
    return bits;
  }
  const bool whole = type.element == kIntType || type.element == kUintType;
  if ((type.element != kFloatType && !whole) || type.array) {
    refuse(at.at, "random numbers are of type float, int or uint", "write `random<float>(0, 1)` and convert it");
  }
  need_arguments(at, node, 2, 2, whole ? "random<int>(0, 10)" : "random<float>(0, 1)");
  if (whole) return random_whole(at, node, type.element, purpose);
  TermPtr least = convert(check_element(*node.arguments[0], "`random`"), kFloatType);
  TermPtr most = convert(check_element(*node.arguments[1], "`random`"), kFloatType);
  TermPtr uniform = make_term(Op::kRandomUniform, at.at, {kFloatType, {}});
  uniform->purpose = purpose;
  if (least->op == Op::kConstant && least->number == 0 && most->op == Op::kConstant && most->number == 1)
    return uniform;
  // least + u * (most - least), each evaluated once.
  const VariableId low = keep(terms(std::move(least)), "least", at.at).front();
  const Type real{kFloatType, {}};
  TermPtr width = make_term(Op::kSubtract, at.at, real, terms(std::move(most), make_variable(at.at, low, real)));
  TermPtr part = make_term(Op::kMultiply, at.at, real, terms(std::move(uniform), std::move(width)));
  return make_term(Op::kAdd, at.at, real, terms(make_variable(at.at, low, real), std::move(part)));
}

}  // namespace casync::compll
