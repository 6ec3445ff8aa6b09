// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cpu/whole_places.h"

#include "compll/codegen/cpu/whole_routine.h"
#include "compll/codegen/text/operation_text.h"

namespace casync::compll {

void WholePlaces::plan_scatters() {
  for (const Step& step : text_.routine.steps) {
    const Term& term = *step.value;
    if ((term.op != Op::kScatter && term.op != Op::kScatterAdd) || term.arguments.size() < 3) continue;
    const Term& into = *term.arguments[2];
    const bool is_used = text_.names.uses(step.variables.front()) != 0;
    if (into.op != Op::kVariable || !into.type().is_over(Extent::Kind::kElements) || !is_used) continue;
    copies_[into.variable].push_back(step.variables.front());
  }
}

std::optional<std::string> WholePlaces::take(std::optional<VariableId> id) {
  const auto wanted = id ? places_.find(*id) : places_.end();
  if (wanted == places_.end()) return std::nullopt;
  made_.insert(*id);
  return wanted->second;
}

/// Adds the lines that store an array for a variable, at the place it is wanted at.
void WholePlaces::store(VariableId id, const std::string& array, const std::string& at, const std::string& type,
                        const std::string& otherwise) {
  text_.out.line(type + "* const " + at + " = " + take(id).value_or(otherwise) + ";");
  const std::string value = array + "(i)";
  if (type != "float") {
    return text_.loops.add("`" + array + "` is copied",
                           "store_group<" + type + ">(" + value + ", " + at + " + i.first, i.rest);", array, 4);
  }
  text_.out.line("const Write " + at + "_mode = mode_of(" + at + ", n);");
  text_.loops.add("`" + array.substr(0, array.rfind('_')) + "` is kept",
                  "put(" + value + ", " + at + ", " + at + "_mode, i);", array, 4);
}

void WholePlaces::begin_copies(VariableId id, const std::string& array) {
  if (places_.count(id) != 0 && !is_made(id)) store(id, array, array + "_then", "float", "");
  const auto found = copies_.find(id);
  if (found == copies_.end()) return;
  for (const VariableId copy : found->second) {
    const std::string type = type_text(text_.program.variables[copy].type.element);
    const std::string at = text_.names.name(copy) + "_at";
    store(copy, array, at, type, "taken<" + type + ">(n, memory)");
    copied_to_[copy] = at;
    picked_from_[id] = at;
  }
}

std::optional<std::string> WholePlaces::take_copy(std::optional<VariableId> id) {
  const auto copied = id ? copied_to_.find(*id) : copied_to_.end();
  if (copied == copied_to_.end()) return std::nullopt;
  std::erase_if(picked_from_, [&](const auto& each) { return each.second == copied->second; });
  return copied->second;
}

std::string WholePlaces::picked_from(const Term& variable, const std::string& array) const {
  const auto copy = variable.op == Op::kVariable ? picked_from_.find(variable.variable) : picked_from_.end();
  if (copy == picked_from_.end()) return array;
  return "Array<" + type_text(variable.type().element) + ">{" + copy->second + "}";
}

}  // namespace casync::compll
