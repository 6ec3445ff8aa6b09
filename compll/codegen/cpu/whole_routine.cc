// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cpu/whole_routine.h"

#include "compll/codegen/cpu/cannot_write.h"
#include "compll/codegen/text/operation_text.h"
#include "compll/codegen/text/size_text.h"
#include "compll/lang/terms.h"
#include "compll/ops/trits.h"

namespace casync::compll {

WholeRoutine::WholeRoutine(const Program& program_of_all, const Routine& routine_of_steps, Writer& writer,
                           Diagnostics& found)
    : program(program_of_all),
      routine(routine_of_steps),
      out(writer),
      diagnostics(found),
      names(program, routine),
      loops(writer) {
  places.plan_scatters();
}

void WholeRoutine::refuse(Span at, const std::string& what) {
  diagnostics.add(at, what + " cannot be compiled for the CPU, only interpreted");
  throw CannotWrite();
}

void WholeRoutine::define_sizes() {
  for (std::size_t i = 0; i < program.parameters.size(); ++i) {
    out.line("[[maybe_unused]] const double parameter" + std::to_string(i) + " = v.parameters[" + std::to_string(i) +
             "];");
  }
  for (std::size_t i = 0; i < program.sizes.size(); ++i) {
    out.line("[[maybe_unused]] const size_t size" + std::to_string(i) + " = std::min<size_t>(n, " +
             size_text(*program.sizes[i].value, {WholeNames::in_parameters, WholeNames::size, "", ""}) + ");");
  }
}

void WholeRoutine::bind_gradient(VariableId id) {
  const std::string to = names.name(id);
  out.line("const Gradient<" + std::to_string(loops.number()) + "> " + to +
           "{source, added, added == nullptr ? Write::kPlain : mode_of(added, n)};");
  out.line("Magnitude finite;");
  loops.read(to)[to] = 4;
  const bool feedback = program.declares.feedback;
  if (feedback) loops.read(to)["residual"] = 4;
  loops.add("", to + ".keep(i);", to, feedback ? 4 : 0);
  loops.add("", "finite.take(" + to + "(i), i.rest);", to, 0);
  loops.keep(to);
  loops.add_memory(to);
  places.begin_copies(id, to);
}

void WholeRoutine::bind_memory(VariableId id, const std::string& place) {
  if (names.uses(id) == 0) return;
  const std::string to = names.name(id);
  out.line("[[maybe_unused]] const Array<float> " + to + "{" + place + "};");
  loops.read(to)[to] = 4;
  loops.add_memory(to);
  places.begin_copies(id, to);
}

void WholeRoutine::bind_section(VariableId id, const Type& type, const std::string& place) {
  if (names.uses(id) == 0) return;
  const std::string to = names.name(id), element = type_text(type.element);
  if (type.is_over(Extent::Kind::kElements)) loops.read(to)[to] = bits_per_element(type.element.bits) / 8;
  const std::string section =
      (type.element == kTritType ? "TritSection"
                                 : "Section<" + element + ", " + std::to_string(type.element.bits) + ">") +
      "{" + place + "}";
  out.line("[[maybe_unused]] const " +
           (type.is_array() ? "auto " + to + " = " + section : element + " " + to + " = " + section + "(size_t{0})") +
           ";");
}

void WholeRoutine::write_steps() {
  for (const Step& step : routine.steps) write_step(step);
}

void WholeRoutine::settle(const Term& term) {
  bool needs = false;
  for_each_term(term, [&](const Term& each) {
    if (each.op == Op::kVariable) needs |= loops.awaits(each.variable);
    if (each.op == Op::kElement) picks_elements = true;
    const bool takes = reduces_array(each) || each.op == Op::kLargest;
    if (takes && each.arguments.front()->type().is_over(Extent::Kind::kBlocks)) needs = true;
  });
  if (needs) loops.write();
}

void WholeRoutine::write_step(const Step& step) {
  const Term& term = *step.value;
  const VariableId first = step.variables.front();
  if (term.op == Op::kVariable) {
    if (loops.awaits(term.variable)) loops.write();
    arrays.rename(first, term.variable);
    if (term.type().is_array()) places.begin_copies(first, names.name(first));
    return;
  }
  if (names.uses(step) == 0) return;
  settle(term);
  out.source_line(term.at);
  const std::string name = names.name(first);
  if (term.op == Op::kKthLargest) {
    values.hoist(*term.arguments[1]);
    return operators.define_largest(name, term, first);
  }
  if (!term.type().is_array()) {
    const std::string value = values.scalar(term);
    return out.line("const " + type_text(term.type().element) + " " + name + " = " + value + ";");
  }
  if (step.variables.size() > 1) return arrays.define_rows(step);
  arrays.define(name, term, first);
  if (term.type().is_over(Extent::Kind::kElements) && !loops.awaits(first)) places.begin_copies(first, name);
}

}  // namespace casync::compll
