// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/random_programs/typed_checks.h"

#include <vector>

namespace casync::compll::test {
namespace {

const TypeWord kFloat = {"float", Kind::kFloat}, kDouble = {"double", Kind::kDouble}, kInt = {"int", Kind::kInt},
               kUint = {"uint", Kind::kUint}, kBool = {"bool", Kind::kBool};

const std::vector<TypeWord>& all_types() {
  static const std::vector<TypeWord> kTypes = {
      kDouble,
      kDouble,
      kFloat,
      kInt,
      kUint,
      kBool,
      {"trit", Kind::kInt},
      {"int1", Kind::kInt},
      {"int5", Kind::kInt},
      {"int13", Kind::kInt},
      {"int31", Kind::kInt},
      {"uint1", Kind::kInt},
      {"uint3", Kind::kInt},
      {"uint8", Kind::kInt},
      {"uint24", Kind::kInt},
      {"uint31", Kind::kInt},
  };
  return kTypes;
}

/// A uint that is another one for each `value`. All NaNs are alike.
std::string code_of(const std::string& value, Kind kind) {
  switch (kind) {
    case Kind::kFloat:
    case Kind::kDouble: return "(" + value + " == " + value + " ? bits(" + value + ") : 5)";
    case Kind::kBool: return "(" + value + " ? 1 : 2)";
    case Kind::kUint: return value;
    case Kind::kInt: break;
  }
  return "(uint(" + value + " & 0x7fffffff) | (" + value + " < 0 ? 0x80000000 : 0))";
}

/// A function with branches and early ends, and one of two results.
std::string functions_of(const std::string& type) {
  return type + " chosen_" + type + "(" + type + " a, " + type + " b, float x) {\n  if (a == b) return a;\n  " + type +
         " c = a;\n  if (x > 0.5) {\n    c = b;\n  } else if (x < -0.5) {\n    return b;\n  }\n  return c;\n}\n(" +
         type + ", bool) split_" + type + "(" + type +
         " a) {\n  if (a != 0) { return (a, true); }\n  return (0, a > 1);\n}\n";
}

}  // namespace

std::string TypedChecks::helpers() const {
  std::string text;
  for (const std::string& type : called_) text += functions_of(type);
  return text;
}

void TypedChecks::begin() {
  number_ = "0";
  floats_ = named("float*", "map(g, [&](float x) -> float { return tame(x); })");
}

std::string TypedChecks::named(const std::string& type, const std::string& value) {
  std::string name = text_.fresh("y");
  text_.line("  " + type + " " + name + " = " + value + ";");
  return name;
}

void TypedChecks::note_array(const std::string& value, const TypeWord& type) {
  const std::string array = named(type.text + "*", value);
  const std::string each = type.kind == Kind::kDouble ? "float y = x; " : type.text + " y = x; ";
  number_ += " + " + named("uint", "reduce(map(" + array + ", range(" + array + ".size), [&](" + type.text +
                                       " x, int at) -> uint { " + each + "return mixed(" + code_of("y", type.kind) +
                                       " + uint(at) * 2654435769); }), sum)");
}

void TypedChecks::note_value(const std::string& value, const TypeWord& type) {
  const std::string one = named(type.kind == Kind::kDouble ? "float" : type.text, value);
  number_ += " + mixed(" + code_of(one, type.kind) + ")";
}

std::string TypedChecks::elements() {
  static const std::vector<std::string> kScales = {"3", "0.7", "40", "1e3", "1e9", "1e12"};
  const std::string made = is_bool() ? "x > 0.25" : "x * " + choices_.of(kScales);
  return named(type_.text + "*", "map(" + floats_ + ", [&](float x) -> " + type_.text + " { return " + made + "; })");
}

std::string TypedChecks::places() {
  return named("uint*", "largest(" + floats_ + ", " + choices_.of(declared_.sizes) + ", absolute)");
}

void TypedChecks::write() {
  type_ = choices_.of(all_types());
  // In the order of the switch below: those that tiles have, those that `synchronize` has on a CPU, too, and others.
  const std::uint32_t count = declared_.for_tiles ? 5 : for_rounds_ ? 8 : 12;
  switch (choices_.below(count)) {
    case 0: return write_operations();
    case 1: return is_bool() ? write_operations() : write_reduction();
    case 2: return is_bool() ? write_operations() : write_block_reduction();
    case 3: return write_parameters();
    case 4: return write_functions();
    case 5: return is_bool() ? write_picks() : write_scatter();
    case 6: return write_picks();
    case 7: return write_sized();
    case 8: return write_random();
    case 9: return write_sort();
    case 10: return write_selection();
    default: return is_bool() || type_.kind == Kind::kDouble ? write_selection() : write_search();
  }
}

void TypedChecks::write_operations() {
  static const std::vector<std::string> kOfTiles = {"a + b", "a - b", "a * b", "a / b"};
  static const std::vector<std::string> kOfAll = {
      "a < b",           "a <= b",   "a > b",   "a == b",         "a != b",  "min(a, b)", "max(a, b)",
      "abs(a)",          "-a",       "!a",      "a && b",         "a || b",  "a ? b : a", "x > 0 ? a : b",
      "x > 0 ? 0.5 : a", "floor(a)", "ceil(a)", "round(a / 3.0)", "sqrt(a)", "bits(a)",   "is_finite(a)",
      "int5(a)",         "uint(a)",  "trit(a)", "int1(a)",        "bool(a)", "uint31(a)", "double(a) / 3",
      "uint24(a) + a"};
  static const std::vector<std::string> kOfIntegers = {"a % b",
                                                       "a & b",
                                                       "a | b",
                                                       "a ^ b",
                                                       "a << b",
                                                       "a >> b",
                                                       "~a",
                                                       "a >> 35",
                                                       "uint(a) >> 1",
                                                       "uint(a) >> uint(b)",
                                                       "uint(a) << b",
                                                       "uint(a) / 3",
                                                       "uint(a) % 7",
                                                       "-uint(a)",
                                                       "5 << a",
                                                       "4000000000 >> a",
                                                       "uint(a) * uint(b)"};
  const auto operation = [&]() -> std::string {
    const bool few = declared_.for_tiles && type_.kind == Kind::kDouble && !choices_.one_in(8);
    if (few || choices_.one_in(4)) return choices_.of(kOfTiles);
    return choices_.of(!is_real() && choices_.one_in(2) ? kOfIntegers : kOfAll);
  };
  const std::string a = elements(), b = elements(), first = operation();
  const std::string second = choices_.one_in(2) ? " r = r * 0.5 + (" + operation() + ");" : "";
  note_array("map(" + a + ", " + b + ", " + floats_ + ", [&](" + type_.text + " a, " + type_.text +
                 " b, float x) -> float { float r = " + first + ";" + second + " return r; })",
             kFloat);
}

void TypedChecks::write_functions() {
  const std::string& t = type_.text;
  called_.insert(t);
  const std::string a = elements();
  const std::string b = named(t + "*", "map(" + a + ", " + floats_ + ", [&](" + t + " q, float x) -> " + t +
                                           " { return chosen_" + t + "(q, x < 0, x); })");
  if (for_rounds_) return note_array(b, type_);  // a CPU has no map of several results there
  const std::string one = text_.fresh("y"), two = text_.fresh("y");
  text_.line("  (" + t + "* " + one + ", bool* " + two + ") = map(" + b + ", split_" + t + ");");
  note_array(one, type_);
  note_array(two, kBool);
}

TypedChecks::Reducer TypedChecks::reducer() {
  const std::string& t = type_.text;
  const Reducer sum{"sum", is_real() ? kDouble : type_.kind == Kind::kUint ? kUint : kInt}, count{"count", kUint};
  if (declared_.for_tiles && !is_word() && !choices_.one_in(8)) return choices_.one_in(2) ? sum : count;
  switch (choices_.below(5)) {
    case 0: return sum;
    case 1: return count;
    case 2: return {"min", type_};
    case 3: return {"max", type_};
    default: break;
  }
  return {"1, [&](" + t + " u, " + t + " v) -> " + t + " { return u == v ? u : u > v ? u - v : v; }", type_};
}

void TypedChecks::write_reduction() {
  static const std::vector<std::string> kBegun = {"2, min", "-1, greater", "smaller"};
  const std::string a = elements(), t = type_.text;
  const auto [by, gives] = reducer();
  note_value("reduce(" + a + ", " + by + ")", gives);
  if (declared_.for_tiles && !is_word()) return;
  note_value("reduce(" + a + ", " + choices_.of(kBegun) + ")", type_);
  if (declared_.for_tiles) return;
  note_value("reduce(" + a + ", [&](" + t + " u, " + t + " v) -> " + t + " { return u < v ? v : u; })", type_);
}

void TypedChecks::write_block_reduction() {
  const std::string a = elements(), block = declared_.blocks.front();
  const auto [by, gives] = reducer();
  const std::string b = named(gives.text + "*", "block_reduce(" + a + ", " + block + ", " + by + ")");
  const std::string each = named(gives.text + "*", "spread(" + b + ", " + block + ")");
  note_array("map(" + each + ", " + floats_ + ", [&](" + gives.text + " q, float x) -> float { return q + x; })",
             kFloat);
}

void TypedChecks::write_parameters() {
  static const std::vector<std::string> kUses = {"a + wide", "a * narrow", "a - below", "wide * a + narrow",
                                                 "narrow / 3 + a"};
  const std::string a = elements();
  note_array("map(" + a + ", [&](" + type_.text + " a) -> float { return " + choices_.of(kUses) + "; })", kFloat);
  if (choices_.one_in(2)) note_value("wide * narrow - below", kDouble);
}

void TypedChecks::write_sort() {
  const std::string a = elements(), t = type_.text;
  const std::string own = ", [&](" + t + " u, " + t + " v) -> bool { return abs(float(u)) > abs(float(v)); }";
  const std::vector<std::string> orders = {own, "", ", greater"};
  note_array("sort(" + a + (is_bool() ? own : choices_.of(orders)) + ")", type_);
}

void TypedChecks::write_scatter() {
  const std::string a = elements(), p = places(), picked = "gather(" + a + ", " + p + ")";
  if (choices_.one_in(4)) return note_array("scatter(" + p + ", " + picked + ", g.size)", type_);
  const std::string operation = choices_.one_in(2) ? "scatter_add(" : "scatter(";
  note_array(operation + p + ", " + (choices_.one_in(2) ? "3" : picked) + ", " + a + ")", type_);
}

void TypedChecks::write_picks() {
  const std::string a = elements();
  note_array("gather(" + a + ", " + places() + ")", type_);
  note_array("map(" + a + ", range(g.size), [&](" + type_.text + " q, int i) -> float { return q + " + a +
                 "[i / 2] + " + a + "[uint(i) * 3] * 2; })",
             kFloat);
}

void TypedChecks::write_selection() {
  static const std::vector<std::string> kEnds = {"min", "max"};
  const std::string a = elements(), t = type_.text, size = choices_.of(declared_.sizes);
  const std::string holds = "[&](" + t + " u) -> bool { return u != 0; })";
  switch (choices_.below(3)) {
    case 0: return note_array("filter(" + a + ", " + size + ", " + holds, type_);
    case 1: return note_array("where(" + a + ", " + size + ", " + holds, kUint);
    default: break;
  }
  const std::string chosen = named(t + "*", "filter(" + a + ", " + holds);
  note_array(chosen, type_);
  if (!is_bool()) note_value("reduce(" + chosen + ", " + choices_.of(kEnds) + ")", type_);
}

void TypedChecks::write_search() {
  const std::string a = elements();
  note_array("largest(" + a + ", " + choices_.of(declared_.sizes) + ")", kUint);
  note_value("kth_largest(" + a + ", 3)", type_);
  if (!is_real()) note_array("histogram(" + a + ", 16)", kUint);
}

void TypedChecks::write_sized() {
  const std::string a = elements();
  const std::string some = named(type_.text + "*", "map(range(" + choices_.of(declared_.sizes) + "), [&](int i) -> " +
                                                       type_.text + " { return " + a + "[i * 2]; })");
  note_array(some, type_);
  if (is_bool()) return;
  const auto [by, gives] = reducer();
  note_value("reduce(" + some + ", " + by + ")", gives);
}

void TypedChecks::write_random() {
  static const std::vector<std::string> kDraws = {"random<int>(q, 7)", "random<uint>(2, uint(q))",
                                                  "random<float>(q, 9) * 100", "random<uint>() % 8"};
  const std::string a = elements();
  note_array("map(" + a + ", [&](" + type_.text + " q) -> int { return " + choices_.of(kDraws) + "; })", kInt);
}

}  // namespace casync::compll::test
