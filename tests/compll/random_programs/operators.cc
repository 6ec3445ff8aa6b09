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
  const bool is_for_blocks = !declared_.for_tiles && extent.starts_with("blocks ");
  return choices_.one_in(is_for_blocks ? 2 : 6) ? unnamed_array(extent) : named_array(extent);
}

Array Operators::named_array(const std::string& extent) {
  const std::vector<Array> found = text_.arrays_of(extent);
  if (!found.empty() && !choices_.one_in(4)) return choices_.of(found);
  if (extent == kAll && !found.empty()) return choices_.of(found);
  if (extent.starts_with("blocks ")) return block_reduction(extent.substr(7));
  return named({"range(" + (extent == kAll ? "g.size" : extent) + ")", "int", extent, Kind::kInt, true}, "r");
}

Array Operators::unnamed_array(const std::string& extent) {
  if (extent.starts_with("blocks ")) return block_values(extent.substr(7));
  if (extent == kAll && !declared_.for_tiles && choices_.one_in(3)) {
    const std::string block = choices_.of(declared_.blocks);
    const Array of = array_of("blocks " + block);
    return {"spread(" + of.name + ", " + block + ")", of.type, kAll, of.kind, of.finite};
  }
  return map_of(extent, expressions_.number_type());
}

Array Operators::named(Array array, const std::string& word) {
  const std::string name = text_.fresh(word);
  text_.line("  " + array.type + "* " + name + " = " + array.name + ";");
  array.name = name;
  text_.add_array(array);
  return array;
}

Array Operators::finite_array(const std::string& extent) {
  const Array from = array_of(extent);
  if (from.finite && from.kind == Kind::kFloat) return from;
  const Array made{"map(" + from.name + ", [&](" + from.type + " x) -> float { return tame(" +
                       (from.kind == Kind::kBool ? "float(x)" : "x") + "); })",
                   "float", extent, Kind::kFloat, true};
  return choices_.one_in(4) ? made : named(made, "f");
}

Array Operators::named_finite_array(const std::string& extent) {
  const Array made = finite_array(extent);
  return made.name.find('(') == made.name.npos ? made : named(made, "f");
}

Array Operators::map_of(const std::string& extent, const TypeWord& type) {
  std::vector<Array> arrays = {array_of(extent)};
  if (choices_.one_in(2)) arrays.push_back(array_of(extent));
  if (choices_.one_in(6)) arrays.push_back(array_of(extent));
  std::string names;
  for (const Array& array : arrays) names += array.name + ", ";
  return {"map(" + names + text_.function(arrays, type, 3) + ")", type.text, extent, type.kind, false};
}

Array Operators::map(const std::string& extent, const TypeWord& type, const std::string& called) {
  Array made = map_of(extent, type);
  if (called.empty()) return named(made, "a");
  text_.line("  " + type.text + "* " + called + " = " + made.name + ";");
  made.name = called;
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

Operators::Reducer Operators::own_reducer(const Array& from) {
  const bool picks = !declared_.for_tiles && choices_.one_in(3);
  Scope scope;
  if (picks) scope = text_.outside();
  const std::string a = text_.fresh("x"), b = text_.fresh("x");
  for (int weight = 0; weight < 3; ++weight) {
    scope.scalars.push_back({a, from.kind});
    scope.scalars.push_back({b, from.kind});
  }
  if (!picks) scope.n = "3";
  const std::string initial = picks ? expressions_.number(text_.outside(), 2).text : choices_.one_in(2) ? "0" : "2";
  return {initial + ", [&](" + from.type + " " + a + ", " + from.type + " " + b + ") -> " + from.type + " { return " +
              expressions_.number(scope, 2).text + "; }",
          {from.type, from.kind}};
}

Operators::Reducer Operators::reducer(const Array& from) {
  static const std::vector<std::string> kNamed = {"sum", "min", "max", "count", "sum"};
  if (!is_selection(from.extent) && choices_.one_in(4)) return own_reducer(from);
  if (from.type == "float" && choices_.one_in(3)) return {"magnitude", {"float", Kind::kFloat}, true};
  const std::string named = choices_.of(kNamed);
  if (named == "count") return {named, {"uint", Kind::kUint}, true};
  if (named != "sum") return {named, {from.type, from.kind}, true};
  const bool is_real = from.kind == Kind::kFloat || from.kind == Kind::kDouble;
  return {named, is_real                    ? TypeWord{"double", Kind::kDouble}
                 : from.kind == Kind::kUint ? TypeWord{"uint", Kind::kUint}
                                            : TypeWord{"int", Kind::kInt}};
}

void Operators::reduce(const Array& from, Reducer by) {
  const std::string name = text_.fresh("v");
  if (declared_.for_tiles && by.gives.kind == Kind::kDouble && !choices_.one_in(8)) by.gives = {"float", Kind::kFloat};
  text_.line("  " + by.gives.text + " " + name + " = reduce(" + from.name + ", " + by.text + ");");
  text_.add_scalar(name, by.gives.kind);
}

void Operators::write_reduction() {
  const Array from = numbers_of(text_.any_extent());
  reduce(from, reducer(from));
}

void Operators::write_fold() {
  const Array from = numbers_of(unselected_extent());
  reduce(from, own_reducer(from));
}

Array Operators::block_values(const std::string& block) {
  const Array from = numbers_of(kAll);
  const Reducer by = reducer(from);
  return {"block_reduce(" + from.name + ", " + block + ", " + by.text + ")", by.gives.text, "blocks " + block,
          by.gives.kind, by.is_finite && from.finite};
}

Array Operators::block_reduction(const std::string& block) { return named(block_values(block), "b"); }

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
  const std::string extent = unselected_extent();
  const Array from = finite_array(extent);
  named({"hadamard(" + from.name + ", " + declared_.turned + ")", "float", extent, Kind::kFloat, false}, "h");
}

std::string Operators::unselected_extent() {
  const std::string extent = text_.any_extent();
  return is_selection(extent) ? kAll : extent;
}

Array Operators::places(const std::string& size, const std::string& called) {
  const std::string extents[] = {choices_.of(declared_.sizes), "blocks " + choices_.of(declared_.blocks), kAll, kAll,
                                 kAll};
  return places_of(finite_array(extents[choices_.below(5)]), size, called);
}

Array Operators::places_of(const Array& from, const std::string& size, const std::string& called) {
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
  if (is_selection(from.extent) || choices_.one_in(2)) {
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
  const Array from = named_finite_array(is_number ? kAll : extent);
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
  const std::string extent = unselected_extent();
  if (extent == kAll) return static_cast<void>(named({scattered(), "float", kAll, Kind::kFloat, true}, "d"));
  const Array at = any_places(), values = finite_array(at.extent), into = finite_array(extent);
  named({"scatter(" + at.name + ", " + values.name + ", " + into.name + ")", "float", extent, Kind::kFloat, true}, "d");
}

Array Operators::change_of(const std::string& extent) {
  const std::string x = text_.fresh("x"), i = text_.fresh("i");
  const Array of = named_finite_array(extent);
  const Array all = named({"map(" + of.name + ", [&](float " + x + ") -> float { return " + x + " * 0.75; })", "float",
                           extent, Kind::kFloat, true},
                          "f");
  const std::string size = choices_.one_in(2) && extent == kAll ? "g.size" : choices_.of(declared_.sizes);
  const Array at = places_of(all, size, "");
  const std::string picked[] = {"gather(" + all.name + ", " + at.name + ")",
                                "map(" + at.name + ", [&](uint " + i + ") -> float { return " + all.name + "[" + i +
                                    (choices_.one_in(4) ? " / 2]; })" : "]; })")};
  const Array value = named({picked[choices_.below(2)], "float", size, Kind::kFloat, true}, "e");
  if (choices_.one_in(3)) {
    named({"map(" + of.name + ", range(" + of.name + ".size), [&](float " + x + ", int " + i + ") -> float { return " +
               x + " - " + all.name + "[" + i + " / 3]; })",
           "float", extent, Kind::kFloat, true},
          "f");
  }
  const std::string set[] = {value.name, "0", all.name + "[" + at.name + "[0]] + 1"};
  const Array made = named({"scatter(" + at.name + ", " + set[choices_.below(3)] + ", " + all.name + ")", "float",
                            extent, Kind::kFloat, true},
                           "d");
  return choices_.one_in(2) ? another_name(made) : made;
}

Array Operators::another_name(const Array& array) { return named(array, "o"); }

void Operators::write_another_name() { another_name(named_array(text_.any_extent())); }

void Operators::write_call() {
  const std::span<const CallForm> forms = call_forms();
  const CallForm& form = forms.size() == 1 ? forms[0] : forms[choices_.below(static_cast<std::uint32_t>(forms.size()))];
  Array from = finite_array(text_.any_extent());
  if (is_selection(from.extent) && !form.of_selections) from = finite_array(kAll);
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
