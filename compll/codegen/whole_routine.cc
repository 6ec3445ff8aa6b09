// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/whole_routine.h"

#include <algorithm>

#include "compll/codegen/operation_text.h"
#include "compll/codegen/routine_text.h"
#include "compll/codegen/size_text.h"
#include "compll/lang/terms.h"
#include "compll/ops/trits.h"

namespace casync::compll {

WholeRoutine::WholeRoutine(const Program& program, const Routine& routine, Writer& out, Diagnostics& diagnostics)
    : program_(program),
      routine_(routine),
      out_(out),
      diagnostics_(diagnostics),
      uses_(program.variables.size(), 0),
      cost_(program.variables.size(), 0) {
  for (const TermPtr& section : routine.sections) count_uses(*section);
  for (const VariableId id : routine.states_then) ++uses_[id];
  if (routine.result) count_uses(*routine.result);
  count_uses(routine.steps);
  plan_scatters();
}

/// Finds scatters into an array: each begins as a copy of it, which the loop that makes the array can write.
void WholeRoutine::plan_scatters() {
  for (const Step& step : routine_.steps) {
    const Term& term = *step.value;
    if ((term.op != Op::kScatter && term.op != Op::kScatterAdd) || term.arguments.size() < 3) continue;
    const Term& into = *term.arguments[2];
    const bool is_used = uses_[step.variables.front()] != 0;
    if (into.op != Op::kVariable || !into.type().is_over(Extent::Kind::kElements) || !is_used) continue;
    copies_[into.variable].push_back(step.variables.front());
  }
}

void WholeRoutine::refuse(Span at, const std::string& what) {
  diagnostics_.add(at, what + " cannot be compiled for the CPU, only interpreted");
  throw CannotWrite();
}

void WholeRoutine::count_uses(const Term& term) {
  if (term.op == Op::kVariable) ++uses_[term.variable];
  for (const TermPtr& argument : term.arguments) count_uses(*argument);
  if (term.function) count_uses(*term.function);
}
void WholeRoutine::count_uses(const Body& body) {
  for (const TermPtr& result : body.results) count_uses(*result);
  count_uses(body.steps);
}
/// Goes from the last step to the first: a variable without uses uses nothing.
void WholeRoutine::count_uses(const std::vector<Step>& steps) {
  for (std::size_t i = steps.size(); i-- > 0;) {
    const std::vector<VariableId>& made = steps[i].variables;
    if (std::any_of(made.begin(), made.end(), [&](VariableId id) { return uses_[id] != 0; })) {
      count_uses(*steps[i].value);
    }
  }
}

void WholeRoutine::define_sizes() {
  for (std::size_t i = 0; i < program_.parameters.size(); ++i) {
    out_.line("[[maybe_unused]] const double parameter" + std::to_string(i) + " = v.parameters[" + std::to_string(i) +
              "];");
  }
  for (std::size_t i = 0; i < program_.sizes.size(); ++i) {
    out_.line("[[maybe_unused]] const size_t size" + std::to_string(i) + " = std::min<size_t>(n, " +
              size_text(*program_.sizes[i].value, {in_parameters, size, "", ""}) + ");");
  }
}

std::string WholeRoutine::size(const Type& type) {
  if (!type.extent) return "1";
  const Constant& count = type.extent->count;
  switch (type.extent->kind) {
    case Extent::Kind::kElements: break;
    case Extent::Kind::kBlocks: return "(n + " + block_size(count) + " - 1) / " + block_size(count);
    case Extent::Kind::kFixed: return block_size(count);
    case Extent::Kind::kSized: return "size" + std::to_string(count.value);
  }
  return "n";
}

std::string WholeRoutine::name(VariableId id) const {
  if (const auto other = other_names_.find(id); other != other_names_.end()) return other->second;
  return program_.variables[id].name + "_" + std::to_string(id);
}

void WholeRoutine::bind_gradient(VariableId id) {
  const std::string loop = std::to_string(loop_), to = name(id);
  out_.line("const Gradient<" + loop + "> " + to +
            "{source, added, added == nullptr ? Write::kPlain : mode_of(added, n)};");
  out_.line("Magnitude finite;");
  read_[to][to] = 4;
  const bool feedback = program_.declares.feedback;
  if (feedback) read_[to]["residual"] = 4;
  add_to_loop("", to + ".keep(i);", to, feedback ? 4 : 0);
  add_to_loop("", "finite.take(" + to + "(i), i.rest);", to, 0);
  kept_.push_back(to);
  memories_.push_back(to);
  begin_copies(id, to);
}

void WholeRoutine::bind_memory(VariableId id, const std::string& place) {
  if (uses_[id] == 0) return;
  out_.line("[[maybe_unused]] const Array<float> " + name(id) + "{" + place + "};");
  read_[name(id)][name(id)] = 4;
  memories_.push_back(name(id));
  begin_copies(id, name(id));
}

void WholeRoutine::bind_section(VariableId id, const Type& type, const std::string& place) {
  if (uses_[id] == 0) return;
  if (type.is_over(Extent::Kind::kElements)) read_[name(id)][name(id)] = bits_per_element(type.element.bits) / 8;
  const std::string element = type_text(type.element);
  const std::string section =
      (type.element == kTritType ? "TritSection"
                                 : "Section<" + element + ", " + std::to_string(type.element.bits) + ">") +
      "{" + place + "}";
  out_.line("[[maybe_unused]] const " +
            (type.is_array() ? "auto " + name(id) + " = " + section
                             : element + " " + name(id) + " = " + section + "(size_t{0})") +
            ";");
}

void WholeRoutine::write_steps() {
  for (const Step& step : routine_.steps) write_step(step);
}

void WholeRoutine::want_at(VariableId id, const std::string& place) { places_.emplace(id, place); }

/// Ends the loop if a term needs the whole of its results.
void WholeRoutine::settle(const Term& term) {
  bool needs = false;
  for_each_term(term, [&](const Term& each) {
    if (each.op == Op::kVariable) needs |= awaited_.count(each.variable) != 0;
    if (each.op == Op::kElement) picks_elements_ = true;
    const bool takes = reduces_array(each) || each.op == Op::kLargest;
    if (takes && each.arguments.front()->type().is_over(Extent::Kind::kBlocks)) needs = true;
  });
  if (needs) write_loop();
}

void WholeRoutine::write_step(const Step& step) {
  const Term& term = *step.value;
  const VariableId first = step.variables.front();
  if (term.op == Op::kVariable) {
    if (awaited_.count(term.variable) != 0) write_loop();
    other_names_[first] = name(term.variable);
    cost_[first] = cost_[term.variable];
    if (term.type().is_array()) begin_copies(first, name(first));
    return;
  }
  std::size_t uses = 0;
  for (const VariableId id : step.variables) uses += uses_[id];
  if (uses == 0) return;
  settle(term);
  out_.source_line(term.at);
  if (term.op == Op::kKthLargest) {
    hoist(*term.arguments[1]);
    return define_largest(name(first), term, first);
  }
  if (!term.type().is_array()) {
    const std::string value = scalar(term);
    out_.line("const " + type_text(term.type().element) + " " + name(first) + " = " + value + ";");
    return;
  }
  if (step.variables.size() > 1) return define_rows(step);
  define_array(name(first), term, first);
  if (term.type().is_over(Extent::Kind::kElements) && awaited_.count(first) == 0) begin_copies(first, name(first));
}

}  // namespace casync::compll
