// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/rounds_routine.h"

#include <algorithm>

#include "compll/codegen/operation_text.h"
#include "compll/codegen/routine_text.h"
#include "compll/codegen/size_text.h"
#include "compll/lang/terms.h"

namespace casync::compll {
namespace {

bool has_n_elements(const Type& type) { return type.extent && type.extent->kind == Extent::Kind::kElements; }

}  // namespace

RoundsRoutine::RoundsRoutine(const Program& program, const TurnPlan& plan, const std::vector<VariableId>& kept,
                             Writer& out, Diagnostics& diagnostics)
    : program_(program), plan_(plan), out_(out), diagnostics_(diagnostics), uses_(program.variables.size(), 0) {
  count_uses(*plan.given);
  for (const VariableId id : kept) ++uses_[id];
  for (const Step* step : plan.steps) count_uses(*step->value);
}

void RoundsRoutine::refuse(Span at, const std::string& what) {
  diagnostics_.add(at, what + " in `synchronize` cannot be compiled for the CPU, only interpreted");
  throw CannotWrite();
}

void RoundsRoutine::count_uses(const Term& term) {
  for_each_term(term, [&](const Term& each) {
    if (each.op == Op::kVariable) ++uses_[each.variable];
  });
}

std::string RoundsRoutine::length(const Constant& constant) {
  if (constant.dimension) return *constant.dimension == Dimension::kRows ? "v.rows" : "v.columns";
  return constant.parameter ? "static_cast<size_t>(v.parameters[" + std::to_string(*constant.parameter) + "])"
                            : "size_t{" + std::to_string(constant.value) + "}";
}

std::string RoundsRoutine::size(const Type& type) {
  if (!type.extent) return "1";
  const Constant& count = type.extent->count;
  switch (type.extent->kind) {
    case Extent::Kind::kElements: break;
    case Extent::Kind::kBlocks: return "(v.n + " + length(count) + " - 1) / " + length(count);
    case Extent::Kind::kFixed: return length(count);
    case Extent::Kind::kSized: return "size" + std::to_string(count.value);
  }
  return "v.n";
}

void RoundsRoutine::define_sizes() {
  for (std::size_t i = 0; i < program_.sizes.size(); ++i) {
    out_.line(
        "[[maybe_unused]] const size_t size" + std::to_string(i) + " = std::min<size_t>(v.n, " +
        size_text(*program_.sizes[i].value, {[](ParameterId id) { return "v.parameters[" + std::to_string(id) + "]"; },
                                             size, "v.rows", "v.columns"}) +
        ");");
  }
}

void RoundsRoutine::bind(VariableId id, const std::string& place) {
  if (uses_[id] == 0) return;
  const ProgramVariable& variable = program_.variables[id];
  const std::string name = variable.name + "_" + std::to_string(id), type = type_text(variable.type.element);
  const std::string at = type == "float" ? place : "reinterpret_cast<const " + type + "*>(" + place + ")";
  if (!variable.type.is_array()) {
    out_.line("const " + type + " " + name + " = *(" + at + ");");
    values_[id] = name;
    return;
  }
  out_.line("[[maybe_unused]] const Stored<" + type + "> " + name + "{" + at + "};");
  arrays_[id] = {name, name + ".data", "", {}, {}, ""};
  if (has_n_elements(variable.type)) arrays_[id].reads[name] = 4;
}

/// The variable that this one is another name of.
VariableId RoundsRoutine::made_as(VariableId id) const {
  for (const Step* step : plan_.steps) {
    if (step->variables.front() == id && step->value->op == Op::kVariable) return made_as(step->value->variable);
  }
  return id;
}

void RoundsRoutine::want_at(VariableId id, const std::string& place) { places_.emplace(made_as(id), place); }

std::string RoundsRoutine::typed_place(VariableId id) const {
  const auto wanted = places_.find(id);
  if (wanted == places_.end()) return "";
  const std::string type = type_text(program_.variables[id].type.element);
  return type == "float" ? wanted->second : "reinterpret_cast<" + type + "*>(" + wanted->second + ")";
}

void RoundsRoutine::write_steps() {
  for (std::size_t i = 0; i < plan_.steps.size(); ++i) write_step(i);
}

void RoundsRoutine::write_step(std::size_t index) {
  const Step& step = *plan_.steps[index];
  const Term& term = *step.value;
  const VariableId id = step.variables.front();
  if (step.variables.size() > 1) refuse(term.at, "a map of several results");
  if (term.op == Op::kVariable) {
    if (term.type().is_array()) {
      arrays_[id] = arrays_.at(term.variable);
    } else {
      values_[id] = values_.at(term.variable);
    }
    return;
  }
  out_.source_line(term.at);
  const std::string name = program_.variables[id].name + "_" + std::to_string(id);
  const std::string type = type_text(term.type().element);
  const std::string place = typed_place(id);
  if (!term.type().is_array()) {
    const std::string value = scalar(term);
    out_.line("const " + type + " " + name + " = " + value + ";");
    values_[id] = name;
    if (!place.empty()) out_.line("*(" + place + ") = " + name + ";");
    return;
  }
  const bool lies_nowhere = place.empty() && uses_[id] <= 1;
  const bool lazy = term.op == Op::kMap || term.op == Op::kRange || term.op == Op::kSpread ||
                    (term.op == Op::kMatmul && term.form == MatmulForm::kOuter);
  if (!lazy || lies_nowhere) {
    arrays_[id] = define(term, name, place);
    if (!place.empty()) arrays_[id].place = places_.at(id);
    return;
  }
  Array array = define(term, temporary("each"), "");
  if (!is_filled_by_product(index)) {
    arrays_[id] = in_memory(std::move(array), term.type(), place, "`" + program_.variables[id].name + "`");
    if (!place.empty()) arrays_[id].place = places_.at(id);
    return;
  }
  array.fills = temporary("memory");
  out_.line("float* const " + array.fills + " = " + (place.empty() ? "taken<float>(v.n, memory)" : place) + ";");
  arrays_[id] = std::move(array);
}

/// Returns true if the first use of a matrix is a product with it.
bool RoundsRoutine::is_filled_by_product(std::size_t index) const {
  const Step& step = *plan_.steps[index];
  const VariableId id = step.variables.front();
  if (!has_n_elements(step.value->type()) || step.value->type().element != kFloatType) return false;
  for (std::size_t i = index + 1; i < plan_.steps.size(); ++i) {
    std::size_t uses = 0;
    for_each_term(*plan_.steps[i]->value,
                  [&](const Term& each) { uses += each.op == Op::kVariable && each.variable == id; });
    if (uses == 0) continue;
    const Term& first = *plan_.steps[i]->value;
    const Term& of = first.arguments.empty() ? first : *first.arguments.front();
    return uses == 1 && first.op == Op::kMatmul && of.op == Op::kVariable && of.variable == id;
  }
  return false;
}

RoundsRoutine::Array RoundsRoutine::array_of(const Term& term) {
  if (term.op == Op::kVariable) return arrays_.at(term.variable);
  return define(term, temporary(std::string(name_of(term.op))), "");
}

/// Stores the array in memory, at this place or at any.
RoundsRoutine::Array RoundsRoutine::in_memory(Array array, const Type& type, const std::string& place,
                                              const std::string& what) {
  if (!array.memory.empty() && place.empty()) return array;
  const std::string to = temporary("kept"), element = type_text(type.element);
  out_.line(element + "* const " + to +
            "_at = " + (place.empty() ? "taken<" + element + ">(" + size(type) + ", memory)" : place) + ";");
  fill(array, type, to + "_at", what);
  out_.line("[[maybe_unused]] const Stored<" + element + "> " + to + "{" + to + "_at};");
  Array kept{to, to + "_at", "", {}, {}, ""};
  if (has_n_elements(type)) kept.reads[to] = 4;
  return kept;
}

/// An array whose elements may be read in any order.
RoundsRoutine::Array RoundsRoutine::settled(const Term& term) {
  Array array = array_of(term);
  if (array.outers.empty()) return array;
  return in_memory(std::move(array), term.type(), "", "a product");
}

void RoundsRoutine::prepare(const Array& array) {
  for (const std::string& outer : array.outers) out_.line(outer + ".prepare(first, count);");
}

void RoundsRoutine::fill(const Array& array, const Type& type, const std::string& place, const std::string& what) {
  note(what, array, type, 4);
  if (array.outers.empty()) {
    out_.line("store(0, " + size(type) + ", " + array.name + ", " + place + ");");
    return;
  }
  out_.open("for_pieces(v.rows, v.columns, [&](size_t first, size_t count) HWY_ATTR");
  if (array.outers.count(array.name) != 0) {
    out_.line(array.name + ".write(first, count, " + place + " + first);");
  } else {
    prepare(array);
    out_.line("store(first, count, " + array.name + ", " + place + " + first);");
  }
  out_.close(");");
}

/// The function that returns pieces of a matrix.
std::string RoundsRoutine::piece(const Array& array) {
  if (!array.memory.empty())
    return "[&](size_t, size_t first, size_t) HWY_ATTR { return " + array.memory + " + first; }";
  std::string to = temporary("piece");
  std::string place = array.fills + " + first";
  if (array.fills.empty()) {
    const std::string tiles = temporary("tiles");
    out_.line("float* const " + tiles + " = taken<float>(kSlots * kPiece, memory);");
    place = tiles + " + slot * kPiece";
  }
  out_.open("[[maybe_unused]] const auto " + to +
            " = [&]([[maybe_unused]] size_t slot, size_t first, size_t count) HWY_ATTR");
  prepare(array);
  out_.line("store(first, count, " + array.name + ", " + place + ");");
  out_.line("return " + place + ";");
  out_.close(";");
  return to;
}

void RoundsRoutine::note(const std::string& what, const Array& array, const Type& type, double written) {
  if (!has_n_elements(type)) return;
  double read = 0;
  for (const auto& [memory, bytes] : array.reads) read += bytes;
  loops_.push_back({what, read, written});
}

void RoundsRoutine::put(const Term& term, const std::string& place, const std::string& what) {
  const Array array = array_of(term);
  if (array.place == place) return;
  if (array.memory.empty()) return fill(array, term.type(), place, what);
  out_.line("copy(" + array.memory + ", " + size(term.type()) + ", " + place + ");");
  note(what, array, term.type(), 4);
}

void RoundsRoutine::put(VariableId id, const std::string& place, const std::string& what) {
  put(*make_variable({}, id, program_.variables[id].type), place, what);
}

}  // namespace casync::compll
