// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/random_programs/expressions.h"

#include <algorithm>

namespace casync::compll::test {
namespace {

bool is_integer(Kind kind) { return kind == Kind::kInt || kind == Kind::kUint; }

std::string call(const std::string& function, const std::string& argument) { return function + "(" + argument + ")"; }

}  // namespace

Kind common(Kind a, Kind b) {
  if (a == Kind::kDouble || b == Kind::kDouble) return Kind::kDouble;
  if (a == Kind::kFloat || b == Kind::kFloat) return Kind::kFloat;
  return a == Kind::kUint || b == Kind::kUint ? Kind::kUint : Kind::kInt;
}

TypeWord Expressions::number_type() {
  switch (choices_.below(12)) {
    case 0:
      if (few_doubles_ && !choices_.one_in(10)) return {"float", Kind::kFloat};
      return {"double", Kind::kDouble};
    case 1: return {"int", Kind::kInt};
    case 2: return {"uint", Kind::kUint};
    case 3: return {"trit", Kind::kInt};
    case 4:
    case 5: return {"int" + std::to_string(choices_.between(1, 31)), Kind::kInt};
    case 6:
    case 7: return {"uint" + std::to_string(choices_.between(1, 31)), Kind::kInt};
    default: return {"float", Kind::kFloat};
  }
}

TypeWord Expressions::any_type() { return choices_.one_in(10) ? TypeWord{"bool", Kind::kBool} : number_type(); }

TypeWord Expressions::section_type() {
  if (choices_.one_in(3)) return any_type();
  static const std::vector<TypeWord> kUsual = {{"float", Kind::kFloat}, {"int8", Kind::kInt},     {"uint4", Kind::kInt},
                                               {"uint1", Kind::kInt},   {"int2", Kind::kInt},     {"trit", Kind::kInt},
                                               {"uint16", Kind::kInt},  {"uint3", Kind::kInt},    {"int5", Kind::kInt},
                                               {"bool", Kind::kBool},   {"int13", Kind::kInt},    {"uint2", Kind::kInt},
                                               {"uint", Kind::kUint},   {"double", Kind::kDouble}};
  const TypeWord& type = choices_.of(kUsual);
  return few_doubles_ && type.kind == Kind::kDouble ? kUsual.front() : type;
}

Scalar Expressions::literal() {
  static const std::vector<Scalar> kAll = {{"0", Kind::kInt},
                                           {"1", Kind::kInt},
                                           {"2", Kind::kInt},
                                           {"7", Kind::kInt},
                                           {"-3", Kind::kInt},
                                           {"100000", Kind::kInt},
                                           {"1000000", Kind::kInt},
                                           {"2147483647", Kind::kInt},
                                           {"0x80000000", Kind::kUint},
                                           {"4000000000", Kind::kUint},
                                           {"0xff", Kind::kInt},
                                           {"0.5", Kind::kFloat},
                                           {"-1.25", Kind::kFloat},
                                           {"3.0", Kind::kFloat},
                                           {"1e-3", Kind::kFloat},
                                           {"1e20", Kind::kFloat},
                                           {"0.1", Kind::kFloat},
                                           {"1e5", Kind::kFloat},
                                           {"double(0.1)", Kind::kDouble}};
  const Scalar& literal = choices_.of(kAll);
  return few_doubles_ && literal.kind == Kind::kDouble ? kAll.front() : literal;
}

Scalar Expressions::leaf(const Scope& scope) {
  const std::uint32_t which = choices_.below(10);
  if (which == 0) return {scope.n, Kind::kUint};
  if (which <= 3 || scope.scalars.empty()) return literal();
  return choices_.of(scope.scalars);
}

Scalar Expressions::number(const Scope& scope, int depth) {
  const Scalar made = any(scope, depth);
  return made.kind == Kind::kBool ? Scalar{"(" + made.text + " ? 1.5 : 0.25)", Kind::kFloat} : made;
}

std::string Expressions::integer(const Scope& scope, int depth) {
  const Scalar made = number(scope, depth);
  return is_integer(made.kind) ? made.text : call("int", made.text);
}

std::string Expressions::condition(const Scope& scope, int depth) {
  static const std::vector<std::string> kSigns = {"<", "<=", ">", ">=", "==", "!="};
  if (depth > 0 && choices_.one_in(5)) {
    const std::string sign = choices_.one_in(2) ? " && " : " || ";
    return "(" + condition(scope, depth - 1) + sign + condition(scope, depth - 1) + ")";
  }
  if (choices_.one_in(12)) return choices_.one_in(3) ? "true" : call("!is_finite", number(scope, depth - 1).text);
  const std::string left = number(scope, depth - 1).text, right = number(scope, depth - 2).text;
  return "(" + left + " " + choices_.of(kSigns) + " " + right + ")";
}

Scalar Expressions::any(const Scope& scope, int depth) {
  if (depth <= 0) return leaf(scope);
  switch (choices_.below(14)) {
    case 0: return leaf(scope);
    case 1:
    case 2: return integers(scope, depth);
    case 3:
    case 4: return function(scope, depth);
    case 5: return converted(scope, depth);
    case 6: return {condition(scope, depth - 1), Kind::kBool};
    case 7: {
      const Scalar yes = number(scope, depth - 1), no = number(scope, depth - 1);
      return {"(" + condition(scope, depth - 1) + " ? " + yes.text + " : " + no.text + ")", common(yes.kind, no.kind)};
    }
    case 8: return prelude(scope, depth);
    case 9:
      if (!scope.arrays.empty()) return element(scope, depth);
      return arithmetic(scope, depth);
    case 10:
      if (!scope.draws) return arithmetic(scope, depth);
      if (choices_.one_in(3)) return {choices_.one_in(2) ? "random<uint>()" : "random<uint>(1)", Kind::kUint};
      return {choices_.one_in(2) ? "random<float>(0, 1)" : "random<float>(-2, 3.5)", Kind::kFloat};
    default: return arithmetic(scope, depth);
  }
}

Scalar Expressions::arithmetic(const Scope& scope, int depth) {
  static const std::vector<std::string> kSigns = {"+", "-", "*", "/"};
  const Scalar a = number(scope, depth - 1), b = number(scope, depth - 1);
  const Kind kind = common(a.kind, b.kind);
  if (choices_.one_in(6)) return {(choices_.one_in(2) ? "min(" : "max(") + a.text + ", " + b.text + ")", kind};
  return {"(" + a.text + " " + choices_.of(kSigns) + " " + b.text + ")", kind};
}

Scalar Expressions::integers(const Scope& scope, int depth) {
  static const std::vector<std::string> kSigns = {"%", "&", "|", "^", "/"};
  if (choices_.one_in(6)) return {call("~", integer(scope, depth - 1)), Kind::kInt};
  const std::string a = integer(scope, depth - 1);
  if (choices_.one_in(4)) {
    const std::string sign = choices_.one_in(2) ? " << " : " >> ";
    const std::string count = choices_.one_in(2) ? std::to_string(choices_.below(34)) : integer(scope, depth - 2);
    return {"int(int(" + a + ")" + sign + count + ")", Kind::kInt};
  }
  const std::string type = choices_.one_in(2) ? "int" : "uint";
  return {"(" + call(type, a) + " " + choices_.of(kSigns) + " " + call(type, integer(scope, depth - 1)) + ")",
          type == "int" ? Kind::kInt : Kind::kUint};
}

Scalar Expressions::function(const Scope& scope, int depth) {
  static const std::vector<std::string> kOfReals = {"floor", "ceil", "round", "sqrt"};
  const Scalar a = number(scope, depth - 1);
  switch (choices_.below(6)) {
    case 0: return {call("abs", a.text), a.kind};
    case 1: return {call("bits", tame(scope, depth - 1)), Kind::kUint};
    case 2: return {call("from_bits", call("uint", a.text) + " & 0xff7fffff"), Kind::kFloat};  // never NaN
    case 3: return {"(- " + a.text + ")", a.kind};
    default: {
      const std::string function = choices_.of(kOfReals);
      const std::string argument = function == "sqrt" && !choices_.one_in(4) ? call("abs", a.text) : a.text;
      return {call(function, argument), a.kind == Kind::kDouble ? Kind::kDouble : Kind::kFloat};
    }
  }
}

Scalar Expressions::prelude(const Scope& scope, int depth) {
  switch (choices_.below(8)) {
    case 0: return {"level_scale(" + tame(scope, depth - 1) + ", 7)", Kind::kFloat};
    case 1: return {"small_float(" + tame(scope, depth - 1) + ", 3, 7)", Kind::kUint};
    case 2: return {"from_small_float(" + call("uint", integer(scope, depth - 1)) + " & 0x7f, 3, 7)", Kind::kFloat};
    case 3: return {call("mixed", integer(scope, depth - 1)), Kind::kUint};
    case 4: return {"selected(0.25, " + scope.n + ")", Kind::kUint};
    case 5:
      if (scope.draws) return {call("stochastic", tame(scope, depth - 1)), Kind::kFloat};
      [[fallthrough]];
    case 6: return {call("helper", number(scope, depth - 1).text + ", " + integer(scope, depth - 1)), Kind::kFloat};
    default: return {call("tame", number(scope, depth - 1).text), Kind::kFloat};
  }
}

Scalar Expressions::converted(const Scope& scope, int depth) {
  const TypeWord type = any_type();
  return {call(type.text, any(scope, depth - 1).text), type.kind};
}

Scalar Expressions::element(const Scope& scope, int depth) {
  const ArrayName& array = choices_.of(scope.arrays);
  const std::string index = integer(scope, depth - 1);
  const std::string at = choices_.one_in(2) ? index : "uint(" + index + ") % max(1, " + array.text + ".size)";
  return {array.text + "[" + at + "]", array.kind};
}

}  // namespace casync::compll::test
