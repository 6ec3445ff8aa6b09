// SPDX-License-Identifier: Apache-2.0
#include "compll/lang/check/expression_checker.h"

#include <cstddef>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/nearest.h"
#include "compll/lang/arithmetic.h"
#include "compll/lang/check/code_checker.h"

namespace casync::compll {
namespace {

/// Keeps variables from outside of a `?` from being assigned while it lives: both sides are computed.
class Choice {
 public:
  Choice(Place& place, std::size_t slots) : place_(place), around_(std::exchange(place.outside_choice, slots)) {}
  ~Choice() { place_.outside_choice = around_; }
  Choice(const Choice&) = delete;
  Choice& operator=(const Choice&) = delete;

 private:
  Place& place_;
  std::size_t around_;
};

}  // namespace

Terms ExpressionChecker::check_terms(const Expression& expression) {
  if (const auto* call = std::get_if<Call>(&expression.node)) return code_.calls.check(expression, *call);
  if (const auto* tuple = std::get_if<Tuple>(&expression.node)) {
    Terms parts;
    for (const ExpressionPtr& part : tuple->parts) parts.push_back(check_one(*part));
    return parts;
  }
  return terms(check_one(expression));
}

TermPtr ExpressionChecker::check_one(const Expression& expression) {
  code_.count(expression.at);
  const Counted inside(code_.place.expressions);
  if (code_.place.expressions > kMostInside) {
    code_.refuse(expression.at, "this nests too deeply, with the functions around it", "give parts of it names");
  }
  return std::visit(
      [&](const auto& node) -> TermPtr {
        using Node = std::decay_t<decltype(node)>;
        if constexpr (std::is_same_v<Node, Call> || std::is_same_v<Node, Tuple>) {
          Terms values = check_terms(expression);
          if (values.size() != 1 || values.front()->types.size() != 1) {
            code_.refuse(expression.at,
                         values.empty() ? "this has no value" : "these are several values where one is needed",
                         "write `(float a, float b) = ...;` to give each a name");
          }
          return std::move(values.front());
        } else if constexpr (std::is_same_v<Node, Lambda>) {
          code_.refuse(expression.at, "a function where a value is needed",
                       "give it to `map`, or name it with `lambda_func`");
        } else {
          return check_node(expression, node);
        }
      },
      expression.node);
}

TermPtr ExpressionChecker::check_element(const Expression& expression, const std::string& of) {
  TermPtr term = check_one(expression);
  if (term->type().is_array()) {
    code_.refuse(expression.at, of + " works on one element, this is an array", "use `map` to do it to each element");
  }
  return term;
}

TermPtr ExpressionChecker::check_condition(const Expression& expression, const std::string& of) {
  return convert(check_element(expression, of), kBoolType);
}

TermPtr ExpressionChecker::check_array(const Expression& expression, const std::string& of) {
  TermPtr term = check_one(expression);
  if (!term->type().is_array()) code_.refuse(expression.at, of + " needs an array, this is one element");
  return term;
}

TermPtr ExpressionChecker::check_floats(const Expression& expression, const std::string& of) {
  TermPtr array = check_array(expression, of);
  if (array->type().element != kFloatType) {
    code_.refuse(expression.at, of + " of " + text_of(array->type().element) + "s", "it is for floats");
  }
  return array;
}

TermPtr ExpressionChecker::check_node(const Expression& at, const Number& node) {
  if (node.is_real) return make_constant(at.at, kFloatType, static_cast<double>(node.real));
  return make_constant(at.at, node.value > static_cast<double>(most_of(kIntType)) ? kUintType : kIntType, node.value);
}

TermPtr ExpressionChecker::check_node(const Expression& at, const Name& node) { return value_of(at.at, node.text); }

TermPtr ExpressionChecker::value_of(Span at, std::string_view word) {
  Names& names = code_.variables.names();
  const Declared* declared = names.find(word);
  const std::string name = "`" + std::string(word) + "`";
  if (word == "true" || word == "false") return make_constant(at, kBoolType, word == "true" ? 1 : 0);
  if (declared == nullptr) code_.refuse(at, "there is no " + name + hint(word, names.all()));
  if (const auto* parameter = std::get_if<Declared::ParameterName>(&declared->what)) {
    return parameter_value(at, parameter->id);
  }
  if (const auto* dimension = std::get_if<Declared::DimensionName>(&declared->what)) {
    return make_term(dimension->dimension == Dimension::kRows ? Op::kRows : Op::kColumns, at, {kUintType, {}});
  }
  const auto* variable = std::get_if<Declared::Variable>(&declared->what);
  if (variable == nullptr) {
    code_.refuse(at, name + " is no value",
                 std::holds_alternative<Declared::Bytes>(declared->what) ? "take its sections with `extract`" : "");
  }
  if (code_.variables.is_spoilt(*variable)) throw CheckMistake();  // its own mistake was said where it was made
  const std::optional<VariableId> id = code_.variables.value(*variable);
  if (!id) code_.refuse(at, name + " has no value here", "assign it on every way to this place");
  return make_variable(at, *id, code_.program.variables[*id].type);
}

TermPtr ExpressionChecker::parameter_value(Span at, ParameterId parameter) const {
  TermPtr term = make_term(Op::kParameter, at, {code_.program.parameters[parameter].type, {}});
  term->parameter = parameter;
  return term;
}

TermPtr ExpressionChecker::check_node(const Expression& at, const Unary& node) {
  // The least int, whose magnitude is none.
  const auto* literal = std::get_if<Number>(&node.operand->node);
  const bool is_least = literal != nullptr && !literal->is_real && literal->value == 2147483648.0;
  if (node.sign == "-" && is_least) return make_constant(at.at, kIntType, -2147483648.0);
  TermPtr operand = check_element(*node.operand, "`" + std::string(node.sign) + "`");
  if (node.sign == "!")
    return make_term(Op::kNot, at.at, {kBoolType, {}}, terms(convert(std::move(operand), kBoolType)));
  const ScalarType type = common_type(operand->type().element, kIntType);
  if (node.sign == "~" && type.is_float()) {
    code_.refuse(at.at, "`~` of a float", "`bits(x)` gives a float's bits");
  }
  operand = convert(std::move(operand), type);
  if (operand->op == Op::kConstant && node.sign == "-") {
    const Scalar value = Scalar::of(type, operand->number);
    return make_constant(at.at, type, computed(Op::kNegate, type, {&value, 1}).as_number(type));
  }
  return make_term(node.sign == "-" ? Op::kNegate : Op::kComplement, at.at, {type, {}}, terms(std::move(operand)));
}

TermPtr ExpressionChecker::check_node(const Expression& at, const Binary& node) {
  const std::string quoted = "`" + std::string(node.sign) + "`";
  TermPtr left = check_element(*node.left, quoted), right = check_element(*node.right, quoted);
  return operation(at.at, node.sign, node.sign_at, std::move(left), std::move(right));
}

TermPtr ExpressionChecker::operation(Span at, std::string_view written, Span sign_at, TermPtr left, TermPtr right) {
  const SignWord& sign = *sign_word(written);
  const std::string quoted = "`" + std::string(written) + "`";
  if (sign.operands == OperandsOf::kBools) {
    return make_term(sign.op, at, {kBoolType, {}},
                     terms(convert(std::move(left), kBoolType), convert(std::move(right), kBoolType)));
  }
  ScalarType type = common_type(left->type().element, right->type().element);
  if (type.is_float() && (sign.operands == OperandsOf::kIntegers || sign.operands == OperandsOf::kShift)) {
    code_.refuse(sign_at, quoted + " of a float", "it works on integers; `int(x)` makes one");
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

TermPtr ExpressionChecker::check_node(const Expression& at, const Conditional& node) {
  TermPtr condition = check_condition(*node.condition, "`?`");
  const Choice choice(code_.place, code_.variables.values().size());
  TermPtr yes = check_element(*node.yes, "`?`"), no = check_element(*node.no, "`?`");
  const ScalarType a = yes->type().element, b = no->type().element;
  const ScalarType type = a == b ? a : common_type(a, b);
  return make_select(at.at, std::move(condition), convert(std::move(yes), type), convert(std::move(no), type));
}

TermPtr ExpressionChecker::check_node(const Expression& at, const Index& node) {
  TermPtr array = check_array(*node.array, "`[]`");
  TermPtr index = check_element(*node.index, "an index");
  // `sorted[x.size * ratio]`: towards zero, as C converts.
  if (index->type().element.is_float()) index = convert(std::move(index), kIntType);
  if (!index->type().element.is_integer()) code_.refuse(node.index->at, "an index that is no number");
  return code_.selections.element_of(std::move(array), std::move(index), at.at);
}

TermPtr ExpressionChecker::element_of(TermPtr array, TermPtr index, Span at) {
  const Type type{array->type().element, {}};
  const ScalarType whole = common_type(index->type().element, index->type().element);
  return make_term(Op::kElement, at, type, terms(std::move(array), convert(std::move(index), whole)));
}

TermPtr ExpressionChecker::check_node(const Expression& at, const Member& node) {
  const auto* name = std::get_if<Name>(&node.of->node);
  const Declared* declared = name == nullptr ? nullptr : code_.variables.names().find(name->text);
  if (const auto* block = declared == nullptr ? nullptr : std::get_if<Declared::ParameterBlock>(&declared->what)) {
    const std::optional<ParameterId> parameter = code_.types.parameter_of(*block->block, node.name.text);
    if (parameter) return parameter_value(at.at, *parameter);
    code_.refuse(node.name.at,
                 "`" + std::string(name->text) + "` has no parameter `" + std::string(node.name.text) + "`");
  }
  if (node.name.text != "size") {
    code_.refuse(node.name.at, "there is no `." + std::string(node.name.text) + "`", "an array has `.size`");
  }
  // The size of the output is known earlier than the output.
  const bool known = code_.place.makes_gradient() && declared != nullptr && declared == code_.place.output;
  TermPtr array = known ? make_variable(at.at, 0, {kFloatType, Extent{}}) : check_array(*node.of, "`.size`");
  if (code_.selections.is_selection(array->type())) return code_.selections.count_of(*array->type().extent, at.at);
  TermPtr size = make_term(Op::kSize, at.at, {kUintType, {}});
  size->arguments = terms(std::move(array));
  return size;
}

}  // namespace casync::compll
