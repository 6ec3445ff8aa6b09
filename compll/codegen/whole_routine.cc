// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/whole_routine.h"

#include <algorithm>

#include "compll/codegen/operation_text.h"
#include "compll/codegen/routine_text.h"
#include "compll/codegen/size_text.h"
#include "compll/lang/terms.h"
#include "compll/ops/trits.h"

namespace casync::compll {
namespace {

// An array that costs more operations than this is computed once if it is used more than once.
constexpr std::size_t kCheap = 60;
// Operations that drawing a random number counts as: drawn once, it is in memory.
constexpr std::size_t kRandomCost = 8;

bool is_over_elements(const Type& type) { return type.extent && type.extent->kind == Extent::Kind::kElements; }
bool is_over_blocks(const Type& type) { return type.extent && type.extent->kind == Extent::Kind::kBlocks; }

/// Returns true if sixteen doubles have all operations of the term: a single double has more.
bool serves_sixteen(const Term& term) {
  const auto is_double = [](const TermPtr& argument) { return argument->type().element == kDoubleType; };
  const bool any =
      term.type().element == kDoubleType || std::any_of(term.arguments.begin(), term.arguments.end(), is_double);
  if (!any) return true;
  switch (term.op) {
    case Op::kConstant:
    case Op::kVariable:
    case Op::kParameter:
    case Op::kElement:
    case Op::kAdd:
    case Op::kSubtract:
    case Op::kMultiply:
    case Op::kDivide: return true;
    case Op::kConvert: {
      const ScalarType from = term.arguments[0]->type().element, to = term.type().element;
      return to == from || (to == kDoubleType && from != kBoolType) || to == kFloatType;
    }
    default: return false;
  }
}
bool serves_sixteen(const Body& body) {
  bool all = true;
  for_each_term(body, [&](const Term& term) { all &= serves_sixteen(term); });
  return all;
}

/// Returns true if the function reads elements of other places.
bool picks(const Body& body) {
  bool any = false;
  for_each_term(body, [&](const Term& each) { any |= each.op == Op::kElement; });
  return any;
}

/// Returns true if the function is only the element of an array at a place.
bool is_gather(const Body& body) {
  if (body.parameters.size() != 1 || body.results.size() != 1 || !body.steps.empty()) return false;
  const Term& result = *body.results.front();
  if (result.op != Op::kElement || result.arguments[0]->op != Op::kVariable) return false;
  const Term* index = result.arguments[1].get();
  if (index->op == Op::kConvert) index = index->arguments[0].get();
  return index->op == Op::kVariable && index->variable == body.parameters.front();
}

}  // namespace

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
    if (into.op != Op::kVariable || !is_over_elements(into.type()) || uses_[step.variables.front()] == 0) continue;
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
  if (is_over_elements(type)) read_[name(id)][name(id)] = bits_per_element(type.element.bits) / 8;
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
    if (takes && is_over_blocks(each.arguments.front()->type())) needs = true;
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
  if (is_over_elements(term.type()) && awaited_.count(first) == 0) begin_copies(first, name(first));
}

/// Defines the results of a map that has several.
void WholeRoutine::define_rows(const Step& step) {
  const Term& term = *step.value;
  const std::string all = temporary("all");
  define_map(all, term);
  const bool sixteen = one_by_one_.count(all) == 0 || serves_sixteen(*term.function);
  for (std::size_t i = 0; i < step.variables.size(); ++i) {
    const VariableId id = step.variables[i];
    if (uses_[id] == 0) continue;
    const std::string type = type_text(term.types[i].element), to = name(id);
    const bool keep = !is_over_elements(term.type()) || (cost(term) > kCheap && uses_[id] > 1);
    const std::string from = keep ? temporary("each") : to;
    const std::string value = "part<" + std::to_string(i) + ">(" + all + "(i))";
    out_.line(sixteen ? "const auto " + from + " = [&](auto i) COMPLL_INLINE { return " + value + "; };"
                      : "const auto " + from + " = one_by_one<" + type + ">([&](size_t i) HWY_ATTR -> " + type +
                            " { return " + value + "; });");
    read_[from] = read_[all];
    if (level_.count(all) != 0) level_[from] = level_[all];
    if (one_by_one_.count(all) != 0) one_by_one_.insert(from);
    cost_[id] = keep ? 0 : cost(term);
    if (keep) define_kept(to, from, term.types[i]);
    if (is_over_elements(term.type())) begin_copies(id, to);
  }
}

/// The rough number of operations for an element.
std::size_t WholeRoutine::cost(const Term& term) const {
  if (term.op == Op::kVariable) return cost_[term.variable];
  if (term.op != Op::kMap) return 0;
  std::size_t all = 0;
  for (const TermPtr& argument : term.arguments) all += cost(*argument);
  for_each_term(*term.function, [&](const Term& each) { all += is_random(each) ? kRandomCost : 1; });
  return all;
}

std::string WholeRoutine::array(const Term& term) {
  if (term.op == Op::kVariable) return name(term.variable);
  settle(term);
  std::string to = temporary(std::string(name_of(term.op)));
  define_array(to, term, {});
  return to;
}

std::string WholeRoutine::whole_array(const Term& term) {
  std::string to = array(term);
  write_loop();
  return to;
}

void WholeRoutine::define_array(const std::string& to, const Term& term, std::optional<VariableId> id) {
  switch (term.op) {
    case Op::kMap: {
      const bool once = !id && !is_over_blocks(term.type()) && !picks(*term.function);
      const bool lazy = once || (is_over_elements(term.type()) && !(id && cost(term) > kCheap && uses_[*id] > 1));
      if (!lazy && !is_over_blocks(term.type()) && is_gather(*term.function)) return define_gather(to, term);
      const std::string from = lazy ? to : temporary("each");
      define_map(from, term);
      if (id) cost_[*id] = lazy ? cost(term) : 0;
      if (!lazy) is_over_blocks(term.type()) ? define_block_values(to, from, term) : define_kept(to, from, term.type());
      return;
    }
    case Op::kRange:
      return out_.line("const auto " + to + " = [&](auto i) COMPLL_INLINE { return index_of<" +
                       type_text(term.type().element) + ">(i); };");
    case Op::kSpread: {
      const std::string from = array(*term.arguments.front()), type = type_text(term.type().element);
      out_.line("const Spread<" + type + ", decltype(" + from + ")> " + to + "{" + from + ", " +
                block_size(term.block) + "};");
      if (level_.count(from) != 0) level_[to] = level_[from];
      return;
    }
    case Op::kScatter:
    case Op::kScatterAdd: return define_scatter(to, term, id);
    case Op::kLargest: return define_largest(to, term, id);
    case Op::kBlockReduce: return define_of_blocks(to, term);
    case Op::kHadamard: return define_hadamard(to, term);
    default: return define_operator(to, term);
  }
}

/// Defines the elements of an array at places that are far from each other.
void WholeRoutine::define_gather(const std::string& to, const Term& term) {
  const Term& of = *term.function->results.front()->arguments[0];
  const std::string places = whole_array(*term.arguments.front()), type = type_text(term.type().element);
  write_loop();
  const auto copy = picked_from_.find(of.variable);
  const std::string from = copy == picked_from_.end()
                               ? name(of.variable)
                               : "Array<" + type_text(of.type().element) + ">{" + copy->second + "}";
  out_.line("[[maybe_unused]] const auto " + to + " = gathered<" + type + ">(" + size(term.type()) + ", " + places +
            ", " + size(of.type()) + ", " + from + ", memory);");
}

/// Stores an array: in the loop that was put off, or at once if it is not over all elements.
void WholeRoutine::define_kept(const std::string& to, const std::string& from, const Type& type) {
  const std::string element = type_text(type.element), count = size(type);
  if (!is_over_elements(type)) {
    return out_.line("[[maybe_unused]] const auto " + to + " = kept<" + element + ">(" + count + ", " + from +
                     ", memory);");
  }
  out_.line("const auto " + to + " = kept_in(taken<" + element + ">(" + count + ", memory), " + from + ");");
  add_to_loop("`" + to.substr(0, to.rfind('_')) + "` is kept", to + ".keep(i);", from,
              bits_per_element(type.element.bits) / 8);
  read_[to] = read_[from];
  if (level_.count(from) != 0) level_[to] = level_[from];
  kept_.push_back(to);
}

void WholeRoutine::define_map(const std::string& to, const Term& term) {
  std::vector<std::string> arguments;
  std::size_t level = 0;
  bool one_by_one = false;
  for (std::size_t i = 0; i < term.arguments.size(); ++i) {
    arguments.push_back("");
    if (uses_[term.function->parameters[i]] == 0) continue;
    const std::string from = array(*term.arguments[i]);
    arguments.back() = from + "(i)";
    const std::map<std::string, double> read = read_[from];
    read_[to].insert(read.begin(), read.end());
    level = std::max(level, this->level(from));
    one_by_one |= one_by_one_.count(from) != 0;
  }
  if (picks(*term.function)) write_loop();
  for_each_term(*term.function, [&](const Term& each) {
    if (!is_random(each)) return;
    const std::string purpose = std::to_string(each.purpose);
    out_.line("const RandomArray random" + purpose + "(v.random, " + purpose + ");");
  });
  std::string result = type_text(term.type().element);
  const bool sixteen = serves_sixteen(*term.function), rows = term.types.size() > 1;
  if (rows) {
    result = "Row<" + result;
    for (std::size_t i = 1; i < term.types.size(); ++i) result += ", " + type_text(term.types[i].element);
    result += ">";
  }
  const std::string of_one = "([[maybe_unused]] size_t i) HWY_ATTR -> " + result;
  if (sixteen) {
    out_.open("const auto " + to + " = [&]([[maybe_unused]] auto i) COMPLL_INLINE");
  } else {
    out_.open("const auto " + to + " = " + (rows ? "" : "one_by_one<" + result + ">(") + "[&]" + of_one);
  }
  of_elements_ = sixteen;
  write_body(*term.function, arguments, result);
  of_elements_ = false;
  out_.close(sixteen || rows ? ";" : ");");
  if (level != 0) level_[to] = level;
  if (one_by_one || !sixteen) one_by_one_.insert(to);
}

void WholeRoutine::write_body(const Body& body, const std::vector<std::string>& arguments, const std::string& result) {
  const auto define = [&](VariableId id, const std::string& value) {
    if (uses_[id] == 0) return;
    local_.insert(id);
    if (value.find_first_of("( ") == value.npos) return static_cast<void>(other_names_[id] = value);
    const std::string type = of_elements_ ? "auto" : type_text(program_.variables[id].type.element);
    out_.line("const " + type + " " + name(id) + " = " + value + ";");
  };
  for (std::size_t i = 0; i < arguments.size(); ++i) define(body.parameters[i], arguments[i]);
  for (const Step& step : body.steps) {
    if (uses_[step.variables.front()] == 0) continue;
    out_.source_line(step.value->at);
    define(step.variables.front(), expression(*step.value));
  }
  std::string values;
  for (const TermPtr& each : body.results) values += (values.empty() ? "" : ", ") + expression(*each);
  if (body.results.size() > 1) values = "row(" + values + ")";
  static_cast<void>(result);
  out_.line("return " + values + ";");
}

}  // namespace casync::compll
