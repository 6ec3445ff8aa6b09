// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/random_programs/operators.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "tests/compll/random_programs/calls.h"

namespace casync::compll::test {

Array Operators::array_of(const std::string& extent) {
  const std::vector<Array> found = text_.arrays_of(extent);
  if (!found.empty() && !choices_.one_in(4)) return choices_.of(found);
  if (extent == kAll && !found.empty()) return choices_.of(found);
  if (extent.starts_with("blocks ")) return block_reduction(extent.substr(7));
  Array made{text_.fresh("r"), "int", extent, Kind::kInt, true};
  text_.line("  int* " + made.name + " = range(" + (extent == kAll ? "g.size" : extent) + ");");
  text_.add_array(made);
  return made;
}

Array Operators::finite_array(const std::string& extent) {
  const Array from = array_of(extent);
  if (from.finite && from.kind == Kind::kFloat) return from;
  Array made{text_.fresh("f"), "float", extent, Kind::kFloat, true};
  text_.line("  float* " + made.name + " = map(" + from.name + ", [&](" + from.type + " x) -> float { return tame(" +
             (from.kind == Kind::kBool ? "float(x)" : "x") + "); });");
  text_.add_array(made);
  return made;
}

Array Operators::map(const std::string& extent, const TypeWord& type, const std::string& called) {
  std::vector<Array> arrays = {array_of(extent)};
  if (choices_.one_in(2)) arrays.push_back(array_of(extent));
  if (choices_.one_in(6)) arrays.push_back(array_of(extent));
  Array made{called.empty() ? text_.fresh("a") : called, type.text, extent, type.kind, false};
  std::string names;
  for (const Array& array : arrays) names += array.name + ", ";
  text_.line("  " + type.text + "* " + made.name + " = map(" + names + text_.function(arrays, type, 3) + ");");
  text_.add_array(made);
  return made;
}

void Operators::write_several() {
  const std::string extent = text_.any_extent();
  const Array from = array_of(extent);
  const TypeWord first = expressions_.any_type(), second = expressions_.number_type();
  Scope scope = text_.inside();
  const std::string x = text_.fresh("x");
  for (int weight = 0; weight < 3; ++weight) scope.scalars.push_back({x, from.kind});
  Array one{text_.fresh("a"), first.text, extent, first.kind, false},
      two{text_.fresh("a"), second.text, extent, second.kind, false};
  text_.line("  (" + first.text + "* " + one.name + ", " + second.text + "* " + two.name + ") = map(" + from.name +
             ", [&](" + from.type + " " + x + ") -> (" + first.text + ", " + second.text + ") { return (" +
             expressions_.number(scope, 2).text + ", " + expressions_.number(scope, 2).text + "); });");
  text_.add_array(one);
  text_.add_array(two);
}

Array Operators::numbers_of(const std::string& extent) {
  const Array found = array_of(extent);
  const bool narrow = found.type != "float" && found.type != "int" && found.type != "uint";
  const bool whole_only = declared_.for_tiles && narrow && !choices_.one_in(6);
  return found.kind == Kind::kBool || whole_only ? finite_array(extent) : found;
}

std::string Operators::reducer(const Array& from, std::string& initial, TypeWord& gives) {
  static const std::vector<std::string> kNamed = {"sum", "min", "max", "count", "sum"};
  initial.clear();
  gives = {from.type, from.kind};
  if (!is_selection(from) && choices_.one_in(4)) {
    Scope scope;
    const std::string a = text_.fresh("x"), b = text_.fresh("x");
    for (int weight = 0; weight < 3; ++weight) {
      scope.scalars.push_back({a, from.kind});
      scope.scalars.push_back({b, from.kind});
    }
    scope.n = "3";
    initial = choices_.one_in(2) ? "0" : "2";
    return "[&](" + from.type + " " + a + ", " + from.type + " " + b + ") -> " + from.type + " { return " +
           expressions_.number(scope, 2).text + "; }";
  }
  if (from.type == "float" && choices_.one_in(3)) return "magnitude";
  const std::string named = choices_.of(kNamed);
  if (named == "count") gives = {"uint", Kind::kUint};
  if (named == "sum")
    gives = from.kind == Kind::kFloat || from.kind == Kind::kDouble
                ? TypeWord{"double", Kind::kDouble}
                : TypeWord{from.kind == Kind::kUint ? "uint" : "int", from.kind};
  return named;
}

void Operators::write_reduction() {
  const Array from = numbers_of(text_.any_extent());
  if (from.kind == Kind::kBool) return;
  std::string initial;
  TypeWord gives;
  const std::string by = reducer(from, initial, gives);
  const std::string name = text_.fresh("v");
  if (declared_.for_tiles && gives.kind == Kind::kDouble && !choices_.one_in(8)) gives = {"float", Kind::kFloat};
  text_.line("  " + gives.text + " " + name + " = reduce(" + from.name + ", " +
             (initial.empty() ? "" : initial + ", ") + by + ");");
  text_.add_scalar(name, gives.kind);
}

Array Operators::block_reduction(const std::string& block) {
  Array from = numbers_of(kAll);
  if (from.kind == Kind::kBool) from = finite_array(kAll);
  std::string initial;
  TypeWord gives;
  const std::string by = reducer(from, initial, gives);
  Array made{text_.fresh("b"), gives.text, "blocks " + block, gives.kind, false};
  text_.line("  " + gives.text + "* " + made.name + " = block_reduce(" + from.name + ", " + block + ", " +
             (initial.empty() ? "" : initial + ", ") + by + ");");
  text_.add_array(made);
  return made;
}

void Operators::write_spread() {
  const std::string block = choices_.of(declared_.blocks);
  const Array from = array_of("blocks " + block);
  if (declared_.for_tiles && from.kind == Kind::kDouble) {
    Array made{text_.fresh("s"), "float", kAll, Kind::kFloat, false};
    text_.line("  float* " + made.name + " = map(spread(" + from.name + ", " + block +
               "), [&](double x) -> float { return x; });");
    return text_.add_array(made);
  }
  Array made{text_.fresh("s"), from.type, kAll, from.kind, from.finite};
  text_.line("  " + from.type + "* " + made.name + " = spread(" + from.name + ", " + block + ");");
  text_.add_array(made);
}

void Operators::write_hadamard() {
  const Array from = finite_array(kAll);
  Array made{text_.fresh("h"), "float", kAll, Kind::kFloat, false};
  text_.line("  float* " + made.name + " = hadamard(" + from.name + ", " + declared_.turned + ");");
  text_.add_array(made);
}

Array Operators::places(const std::string& size, const std::string& called) {
  const Array from = choices_.one_in(4) ? finite_array(choices_.of(declared_.sizes)) : finite_array(kAll);
  Array made{called.empty() ? text_.fresh("p") : called, "uint", size, Kind::kUint, true};
  const std::string x = text_.fresh("x"), begin = "  uint* " + made.name + " = ";
  switch (choices_.below(4)) {
    case 0: text_.line(begin + "largest(" + from.name + ", " + size + ");"); break;
    case 1: text_.line(begin + "largest(" + from.name + ", " + size + ", absolute);"); break;
    case 2:
      text_.line(
          begin + "largest(" + from.name + ", " + size + ", [&](float " + x + ") -> " +
          (choices_.one_in(2) ? "int { return " + x + " * 3; });" : "float { return tame(1 / (" + x + " + 0.5)); });"));
      break;
    default:
      text_.line(begin + "where(" + from.name + ", " + size + ", [&](float " + x + ") -> bool { return " + x +
                 " > 0.3; });");
  }
  text_.add_array(made);
  return made;
}

void Operators::write_kth_largest() {
  const Array from = finite_array(text_.any_extent());
  const std::string name = text_.fresh("v");
  text_.line("  float " + name + " = kth_largest(" + from.name + ", " + expressions_.integer(text_.outside(), 1) +
             (choices_.one_in(2) ? ", absolute);" : ");"));
  text_.add_scalar(name, Kind::kFloat);
}

void Operators::write_filter_or_sort() {
  const Array from = finite_array(text_.any_extent());
  const std::string x = text_.fresh("x"), y = text_.fresh("x");
  if (is_selection(from) || choices_.one_in(2)) {
    Array made{text_.fresh("t"), "float", choices_.of(declared_.sizes), Kind::kFloat, true};
    text_.line("  float* " + made.name + " = filter(" + from.name + ", " + made.extent + ", [&](float " + x +
               ") -> bool { return " + x + " < 0.5; });");
    return text_.add_array(made);
  }
  Array made{text_.fresh("t"), "float", from.extent, Kind::kFloat, true};
  const std::string by = choices_.one_in(3) ? "abs(" + x + ") < abs(" + y + ")" : x + " > " + y;
  text_.line("  float* " + made.name + " = sort(" + from.name +
             (choices_.one_in(3) ? ");" : ", [&](float " + x + ", float " + y + ") -> bool { return " + by + "; });"));
  text_.add_array(made);
}

void Operators::write_selection() {
  const std::string extent = text_.any_extent();
  const bool is_number = extent.find_first_not_of("0123456789") == extent.npos;
  const Array from = finite_array(is_number ? kAll : extent);
  const std::string x = text_.fresh("x"), name = text_.fresh("z");
  const std::string holds = choices_.one_in(2) ? " > 0.25; })" : " * " + x + " < 0.5; })";
  const std::string by_value = "[&](float " + x + ") -> bool { return " + x + holds;
  switch (choices_.below(4)) {
    case 0:
      text_.line("  float* " + name + " = filter(" + from.name + ", " + by_value + ";");
      return text_.add_array({name, "float", name + ".size", Kind::kFloat, true});
    case 1:
      text_.line("  uint* " + name + " = where(" + from.name + ", " + by_value + ";");
      return text_.add_array({name, "uint", name + ".size", Kind::kUint, true});
    default: break;
  }
  const bool as_int = choices_.one_in(2);
  const std::string type = as_int ? "int" : "uint";
  text_.line("  " + type + "* " + name + " = filter(range(" + from.name + ".size), [&](" + type +
             " i) -> bool { float " + x + " = " + from.name + "[i]; return " + x + holds + ";");
  text_.add_array({name, type, name + ".size", as_int ? Kind::kInt : Kind::kUint, true});
}

void Operators::write_gather() {
  const Array at = places(choices_.of(declared_.sizes)), from = array_of(text_.any_extent());
  Array made{text_.fresh("e"), from.type, at.extent, from.kind, from.finite};
  text_.line("  " + from.type + "* " + made.name + " = gather(" + from.name + ", " + at.name + ");");
  text_.add_array(made);
}

std::string Operators::scattered() {
  const Array at = any_places();
  const Array values = finite_array(at.extent);
  const std::string operation = choices_.one_in(3) ? "scatter_add(" : "scatter(";
  const std::string value = choices_.one_in(3) ? expressions_.tame(text_.outside(), 2) : values.name;
  const std::string into = choices_.one_in(2) ? "g.size" : finite_array(kAll).name;
  return operation + at.name + ", " + value + ", " + into + ")";
}

Array Operators::any_places() {
  std::vector<Array> found;
  std::copy_if(text_.arrays().begin(), text_.arrays().end(), std::back_inserter(found), [](const Array& each) {
    return each.type == "uint" && each.extent != kAll && !each.extent.starts_with("blocks ");
  });
  return found.empty() ? places(choices_.of(declared_.sizes)) : choices_.of(found);
}

void Operators::write_scatter() {
  Array made{text_.fresh("d"), "float", kAll, Kind::kFloat, true};
  const std::string value = scattered();
  text_.line("  float* " + made.name + " = " + value + ";");
  text_.add_array(made);
}

void Operators::write_call() {
  const std::span<const CallForm> forms = call_forms();
  const CallForm& form = forms.size() == 1 ? forms[0] : forms[choices_.below(static_cast<std::uint32_t>(forms.size()))];
  Array from = finite_array(text_.any_extent());
  if (is_selection(from) && !form.of_selections) from = finite_array(kAll);
  const std::string extent = form.has_size ? std::to_string(choices_.between(0, 40)) : from.extent;
  Array made{text_.fresh("q"), form.type.text, extent, form.type.kind, true};
  std::string call = form.text;
  for (const auto& [hole, word] : {std::pair("$from", from.name), {"$size", extent}, {"$x", text_.fresh("x")}}) {
    const std::string of = hole;
    for (auto at = call.find(of); at != call.npos; at = call.find(of)) call.replace(at, of.size(), word);
  }
  text_.line("  " + made.type + "* " + made.name + " = " + call + ";");
  text_.add_array(made);
}

}  // namespace casync::compll::test
