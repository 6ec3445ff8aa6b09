// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cpu/rounds_routine.h"

#include <utility>

#include "compll/codegen/cpu/cannot_write.h"
#include "compll/codegen/text/operation_text.h"
#include "compll/codegen/text/size_text.h"
#include "compll/lang/terms.h"

namespace casync::compll {

RoundsRoutine::RoundsRoutine(const Program& program_of_all, const TurnPlan& turn, const std::vector<VariableId>& kept,
                             Writer& writer, Diagnostics& found)
    : program(program_of_all), plan(turn), out(writer), diagnostics(found), uses_(program.variables.size(), 0) {
  count_uses(*plan.given);
  for (const VariableId id : kept) ++uses_[id];
  for (const Step* step : plan.steps) count_uses(*step->value);
}

void RoundsRoutine::refuse(Span at, const std::string& what) {
  diagnostics.add(at, what + " in `synchronize` cannot be compiled for the CPU, only interpreted");
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
  const auto parameter = [](ParameterId id) { return "v.parameters[" + std::to_string(id) + "]"; };
  for (std::size_t i = 0; i < program.sizes.size(); ++i) {
    out.line("[[maybe_unused]] const size_t size" + std::to_string(i) + " = std::min<size_t>(v.n, " +
             size_text(*program.sizes[i].value, {parameter, size, "v.rows", "v.columns"}) + ");");
  }
}

void RoundsRoutine::bind(VariableId id, const std::string& place) {
  if (uses_[id] == 0) return;
  const Type& of = program.variables[id].type;
  const std::string to = name(id), type = type_text(of.element);
  const std::string at = type == "float" ? place : "reinterpret_cast<const " + type + "*>(" + place + ")";
  if (!of.is_array()) {
    out.line("const " + type + " " + to + " = *(" + at + ");");
    return values.name(id, to);
  }
  out.line("[[maybe_unused]] const Stored<" + type + "> " + to + "{" + at + "};");
  RoundsArray array{to, to + ".data", "", {}, {}, ""};
  if (of.is_over(Extent::Kind::kElements)) array.reads[to] = 4;
  arrays.set(id, std::move(array));
}

/// The variable that this one is another name of.
VariableId RoundsRoutine::made_as(VariableId id) const {
  for (const Step* step : plan.steps) {
    if (step->variables.front() == id && step->value->op == Op::kVariable) return made_as(step->value->variable);
  }
  return id;
}

void RoundsRoutine::want_at(VariableId id, const std::string& place) { places_.emplace(made_as(id), place); }

std::string RoundsRoutine::typed_place(VariableId id) const {
  const auto wanted = places_.find(id);
  if (wanted == places_.end()) return "";
  const std::string type = type_text(program.variables[id].type.element);
  return type == "float" ? wanted->second : "reinterpret_cast<" + type + "*>(" + wanted->second + ")";
}

void RoundsRoutine::write_steps() {
  for (std::size_t i = 0; i < plan.steps.size(); ++i) write_step(i);
}

void RoundsRoutine::write_step(std::size_t index) {
  const Step& step = *plan.steps[index];
  const Term& term = *step.value;
  const VariableId id = step.variables.front();
  if (step.variables.size() > 1) refuse(term.at, "a map of several results");
  if (term.op == Op::kVariable) {
    term.type().is_array() ? arrays.set(id, arrays.of(term.variable)) : values.name(id, values.name(term.variable));
    return;
  }
  out.source_line(term.at);
  const std::string place = typed_place(id);
  term.type().is_array() ? write_array(index, place) : write_value(step, place);
}

void RoundsRoutine::write_value(const Step& step, const std::string& place) {
  const VariableId id = step.variables.front();
  const std::string to = name(id), value = values.scalar(*step.value);
  out.line("const " + type_text(step.value->type().element) + " " + to + " = " + value + ";");
  values.name(id, to);
  if (!place.empty()) out.line("*(" + place + ") = " + to + ";");
}

void RoundsRoutine::write_array(std::size_t index, const std::string& place) {
  const Term& term = *plan.steps[index]->value;
  const VariableId id = plan.steps[index]->variables.front();
  const bool lies_nowhere = place.empty() && uses_[id] <= 1;
  const bool lazy = term.op == Op::kMap || term.op == Op::kRange || term.op == Op::kSpread ||
                    (term.op == Op::kMatmul && term.form == MatmulForm::kOuter);
  RoundsArray array = arrays.define(term, !lazy || lies_nowhere ? name(id) : temporary("each"), lazy ? "" : place);
  if (lazy && !lies_nowhere) {
    if (is_filled_by_product(index)) {
      array.fills = temporary("memory");
      out.line("float* const " + array.fills + " = " + (place.empty() ? "taken<float>(v.n, memory)" : place) + ";");
      return arrays.set(id, std::move(array));
    }
    array = arrays.in_memory(std::move(array), term.type(), place, "`" + program.variables[id].name + "`");
  }
  if (!place.empty()) array.place = places_.at(id);
  arrays.set(id, std::move(array));
}

/// Returns true if the first use of a matrix is a product with it.
bool RoundsRoutine::is_filled_by_product(std::size_t index) const {
  const Step& step = *plan.steps[index];
  const VariableId id = step.variables.front();
  const Type& type = step.value->type();
  if (!type.is_over(Extent::Kind::kElements) || type.element != kFloatType) return false;
  for (std::size_t i = index + 1; i < plan.steps.size(); ++i) {
    std::size_t uses = 0;
    for_each_term(*plan.steps[i]->value,
                  [&](const Term& each) { uses += each.op == Op::kVariable && each.variable == id; });
    if (uses == 0) continue;
    const Term& first = *plan.steps[i]->value;
    const Term& of = first.arguments.empty() ? first : *first.arguments.front();
    return uses == 1 && first.op == Op::kMatmul && of.op == Op::kVariable && of.variable == id;
  }
  return false;
}

void RoundsRoutine::note(const std::string& what, const RoundsArray& array, const Type& type, double written) {
  if (!type.is_over(Extent::Kind::kElements)) return;
  double read = 0;
  for (const auto& [memory, bytes] : array.reads) read += bytes;
  loops.push_back({what, read, written});
}

void RoundsRoutine::put(const Term& term, const std::string& place, const std::string& what) {
  const RoundsArray array = arrays.array_of(term);
  if (array.place == place) return;
  if (array.memory.empty()) return arrays.fill(array, term.type(), place, what);
  out.line("copy(" + array.memory + ", " + size(term.type()) + ", " + place + ");");
  note(what, array, term.type(), 4);
}

void RoundsRoutine::put(VariableId id, const std::string& place, const std::string& what) {
  put(*make_variable({}, id, program.variables[id].type), place, what);
}

}  // namespace casync::compll
