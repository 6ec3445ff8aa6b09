// SPDX-License-Identifier: Apache-2.0
#include "tests/compll/random_programs/routine_text.h"

#include <algorithm>
#include <iterator>

namespace casync::compll::test {

void RoutineText::begin(bool draws) {
  scope_ = {};
  scope_.scalars = declared_.parameters;
  arrays_.clear();
  draws_ = draws;
  text_.clear();
}

Scope RoutineText::inside() const {
  Scope scope = scope_;
  scope.draws = draws_;
  return scope;
}

std::vector<Array> RoutineText::arrays_of(const std::string& extent) const {
  std::vector<Array> found;
  std::copy_if(arrays_.begin(), arrays_.end(), std::back_inserter(found),
               [&](const Array& each) { return each.extent == extent; });
  return found;
}

std::string RoutineText::any_extent() {
  if (declared_.for_tiles || choices_.one_in(2)) return kAll;
  if (choices_.one_in(3)) return "blocks " + choices_.of(declared_.blocks);
  return arrays_.empty() ? kAll : choices_.of(arrays_).extent;
}

Scope RoutineText::outside() const {
  Scope scope = scope_;
  if (!declared_.for_tiles) {
    for (const Array& array : arrays_) scope.arrays.push_back({array.name, array.kind, array.finite});
  }
  return scope;
}

std::string RoutineText::function(const std::vector<Array>& arrays, const TypeWord& result, int depth) {
  Scope scope = inside();
  if (!declared_.for_tiles && choices_.one_in(3)) {
    for (const Array& array : arrays_) scope.arrays.push_back({array.name, array.kind, array.finite});
  }
  std::string list, body;
  for (const Array& array : arrays) {
    const std::string name = fresh("x");
    list += (list.empty() ? "" : ", ") + array.type + " " + name;
    for (int weight = 0; weight < 3; ++weight) scope.scalars.push_back({name, array.kind});
  }
  const int locals = choices_.between(0, 2);
  for (int i = 0; i < locals; ++i) {
    const TypeWord type = expressions_.number_type();
    const std::string name = fresh("y");
    body += "    " + type.text + " " + name + " = " + expressions_.number(scope, depth).text + ";\n";
    scope.scalars.push_back({name, type.kind});
    if (choices_.one_in(3)) {
      body += "    if (" + expressions_.condition(scope, 2) + ") " + name + " = " + expressions_.number(scope, 2).text +
              ";\n";
    }
  }
  if (choices_.one_in(5)) {
    body += "    if (" + expressions_.condition(scope, 2) + ") return " + converted(result, scope, 2) + ";\n";
  }
  body += "    return " + converted(result, scope, depth) + ";\n";
  return "[&](" + list + ") -> " + result.text + " {\n" + body + "  }";
}

std::string RoutineText::converted(const TypeWord& result, const Scope& scope, int depth) {
  if (result.kind == Kind::kBool) return expressions_.condition(scope, depth);
  if (choices_.one_in(10)) return expressions_.number({scope_.scalars, {}, false}, 1).text;  // the same for all
  return expressions_.number(scope, depth).text;
}

}  // namespace casync::compll::test
