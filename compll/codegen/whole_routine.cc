// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/whole_routine.h"

#include <algorithm>

#include "compll/codegen/operation_text.h"
#include "compll/codegen/routine_text.h"
#include "compll/lang/terms.h"

namespace casync::compll {
namespace {

// What takes more operations than this is computed once where it is used more than once.
constexpr std::size_t kCheap = 8;

const std::string kOfElement = "[&](size_t i) HWY_ATTR -> ";

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
/// From the last one on: what nobody uses uses nothing.
void WholeRoutine::count_uses(const std::vector<Step>& steps) {
  for (std::size_t i = steps.size(); i-- > 0;) {
    const std::vector<VariableId>& made = steps[i].variables;
    if (std::any_of(made.begin(), made.end(), [&](VariableId id) { return uses_[id] != 0; })) {
      count_uses(*steps[i].value);
    }
  }
}

void WholeRoutine::define_sizes() {
  for (std::size_t i = 0; i < program_.sizes.size(); ++i) {
    out_.line("[[maybe_unused]] const size_t size_" + std::to_string(i) + " = std::min<size_t>(n, " +
              expression(*program_.sizes[i].value) + ");");
  }
}

std::string WholeRoutine::size(const Type& type) {
  if (!type.extent) return "1";
  const Constant& count = type.extent->count;
  switch (type.extent->kind) {
    case Extent::Kind::kElements: break;
    case Extent::Kind::kBlocks: return "(n + " + block_size(count) + " - 1) / " + block_size(count);
    case Extent::Kind::kFixed: return block_size(count);
    case Extent::Kind::kSized: return "size_" + std::to_string(count.value);
  }
  return "n";
}

std::string WholeRoutine::name(VariableId id) const {
  if (const auto other = other_names_.find(id); other != other_names_.end()) return other->second;
  return program_.variables[id].name + "_" + std::to_string(id);
}

void WholeRoutine::bind_memory(VariableId id, const std::string& place) {
  if (uses_[id] == 0) return;
  out_.line("const Array<float> " + name(id) + "{" + place + "};");
  read_[name(id)][name(id)] = 4;
}

void WholeRoutine::bind_section(VariableId id, const Type& type, const std::string& place) {
  if (uses_[id] == 0) return;
  if (type.is_array() && type.extent->kind == Extent::Kind::kElements)
    read_[name(id)][name(id)] = type.element.bits / 8.0;
  const std::string element = type_text(type.element);
  const std::string section = "Section<" + element + ", " + std::to_string(type.element.bits) + ">{" + place + "}";
  out_.line(
      "const " +
      (type.is_array() ? "auto " + name(id) + " = " + section : element + " " + name(id) + " = " + section + "(0)") +
      ";");
}

void WholeRoutine::note_loop(const std::string& what, const std::string& array, const Type& over, double written) {
  if (!over.extent || over.extent->kind != Extent::Kind::kElements) return;
  double read = 0;
  for (const auto& [memory, bytes] : read_[array]) read += bytes;
  loops_.push_back({what, read, written});
}

void WholeRoutine::write_steps() {
  for (const Step& step : routine_.steps) write_step(step);
}

void WholeRoutine::want_at(VariableId id, const std::string& place) { places_.emplace(id, place); }

void WholeRoutine::write_step(const Step& step) {
  const Term& term = *step.value;
  if (term.op == Op::kVariable) {
    other_names_[step.variables.front()] = name(term.variable);
    cost_[step.variables.front()] = cost_[term.variable];
    return;
  }
  std::size_t uses = 0;
  for (const VariableId id : step.variables) uses += uses_[id];
  if (uses == 0) return;
  out_.source_line(term.at);
  if (!term.type().is_array()) {
    const std::string value = scalar(term);
    out_.line("const " + type_text(term.type().element) + " " + name(step.variables.front()) + " = " + value + ";");
    return;
  }
  const bool costly = cost(term) > kCheap;
  if (step.variables.size() == 1) {
    const VariableId id = step.variables.front();
    const bool keep = (costly && uses_[id] > 1) || (places_.count(id) != 0 && uses_[id] > 1);
    cost_[id] = keep ? 0 : cost(term);
    define_array(name(id), term, keep, id);
    return;
  }
  const std::string all = temporary("all");
  define_map(all, term);
  for (std::size_t i = 0; i < step.variables.size(); ++i) {
    const VariableId id = step.variables[i];
    if (uses_[id] == 0) continue;
    const std::string type = type_text(term.types[i].element);
    const std::string one = kOfElement + type + " { return std::get<" + std::to_string(i) + ">(" + all + "(i)); }";
    const bool keep = costly && (uses_[id] > 1 || uses > 1);
    cost_[id] = keep ? 0 : cost(term);
    read_[name(id)] = read_[all];
    if (keep) note_kept(name(id), name(id), term.type());
    out_.line("const auto " + name(id) + " = " +
              (keep ? "kept<" + type + ">(" + size(term.type()) + ", " + one + ", memory)" : one) + ";");
  }
}

/// Roughly how many operations an element takes.
std::size_t WholeRoutine::cost(const Term& term) const {
  if (term.op == Op::kVariable) return cost_[term.variable];
  if (term.op != Op::kMap) return 0;
  std::size_t all = 0;
  for (const TermPtr& argument : term.arguments) all += cost(*argument);
  const auto count = [&](const auto& self, const Term& each) -> std::size_t {
    std::size_t sum = 1;
    for (const TermPtr& argument : each.arguments) sum += self(self, *argument);
    return sum;
  };
  for (const Step& step : term.function->steps) all += count(count, *step.value);
  for (const TermPtr& result : term.function->results) all += count(count, *result);
  return all;
}

/// The array is in memory from here on, made of `from`.
void WholeRoutine::note_kept(const std::string& array, const std::string& from, const Type& type) {
  note_loop("`" + array.substr(0, array.rfind('_')) + "` is kept", from, type, 4);
  read_[array].clear();
  if (type.extent->kind == Extent::Kind::kElements) read_[array][array] = 4;
}

std::string WholeRoutine::array(const Term& term) {
  if (term.op == Op::kVariable) return name(term.variable);
  const std::string to = temporary(std::string(name_of(term.op)));
  define_array(to, term, false, {});
  last_array_ = to;
  return to;
}

void WholeRoutine::define_array(const std::string& to, const Term& term, bool keep, std::optional<VariableId> id) {
  const std::string type = type_text(term.type().element);
  switch (term.op) {
    case Op::kMap: {
      const std::string from = keep ? temporary("each") : to;
      define_map(from, term);
      if (!keep) return;
      note_kept(to, from, term.type());
      const std::string count = size(term.type()), place = id ? place_for(*id) : "";
      if (place.empty()) {
        return out_.line("const auto " + to + " = kept<" + type + ">(" + count + ", " + from + ", memory);");
      }
      out_.line("float* const " + to + "_at = " + place + ";");
      out_.line("fill(" + count + ", " + from + ", " + to + "_at);");
      return out_.line("[[maybe_unused]] const Array<float> " + to + "{" + to + "_at};");
    }
    case Op::kRange:
      return out_.line("const auto " + to + " = " + kOfElement + type + " { return static_cast<" + type + ">(i); };");
    case Op::kScatter:
    case Op::kScatterAdd: return define_scatter(to, term, id ? place_for(*id) : "");
    default: {
      const std::string made = taken(term);
      const Term& of = *term.arguments.front();
      const std::string from = of.op == Op::kVariable ? name(of.variable) : last_array_;
      const bool stays = term.type().extent->kind == Extent::Kind::kElements;
      note_loop("`" + std::string(name_of(term.op)) + "`", from, stays ? term.type() : of.type(), stays ? 4 : 0);
      if (stays) read_[to][to] = 4;
      return out_.line("const auto " + to + " = " + made + ";");
    }
  }
}

void WholeRoutine::define_map(const std::string& to, const Term& term) {
  std::vector<std::string> arguments;
  for (std::size_t i = 0; i < term.arguments.size(); ++i) {
    const bool used = uses_[term.function->parameters[i]] != 0;
    arguments.push_back("");
    if (!used) continue;
    const std::string from = array(*term.arguments[i]);
    arguments.back() = from + "(i)";
    const std::map<std::string, double> read = read_[from];
    read_[to].insert(read.begin(), read.end());
  }
  for_each_term(*term.function, [&](const Term& each) {
    if (!is_random(each)) return;
    const std::string purpose = std::to_string(each.purpose);
    out_.line("const Array<uint32_t> random_" + purpose + " = random_array(" + size(term.type()) + ", v.random, " +
              purpose + ", memory);");
  });
  std::string result = type_text(term.type().element);
  if (term.types.size() > 1) {
    result = "std::tuple<" + result;
    for (std::size_t i = 1; i < term.types.size(); ++i) result += ", " + type_text(term.types[i].element);
    result += ">";
  }
  out_.open("const auto " + to + " = [&]([[maybe_unused]] size_t i) HWY_ATTR -> " + result);
  write_body(*term.function, arguments, result);
  out_.close(";");
}

void WholeRoutine::write_body(const Body& body, const std::vector<std::string>& arguments, const std::string& result) {
  const auto define = [&](VariableId id, const std::string& value) {
    if (uses_[id] == 0) return;
    if (value.find_first_of("( ") == value.npos) return static_cast<void>(other_names_[id] = value);
    out_.line("const " + type_text(program_.variables[id].type.element) + " " + name(id) + " = " + value + ";");
  };
  for (std::size_t i = 0; i < arguments.size(); ++i) define(body.parameters[i], arguments[i]);
  for (const Step& step : body.steps) {
    if (uses_[step.variables.front()] == 0) continue;
    out_.source_line(step.value->at);
    define(step.variables.front(), expression(*step.value));
  }
  std::string values;
  for (const TermPtr& each : body.results) values += (values.empty() ? "" : ", ") + expression(*each);
  out_.line("return " + (body.results.size() == 1 ? values : result + "{" + values + "}") + ";");
}

std::string WholeRoutine::values(const Term& scatter) {
  const Term& values = *scatter.arguments[1];
  if (values.type().is_array()) return array(values);
  return "[&](size_t) HWY_ATTR { return " + scalar(values) + "; }";
}

/// Where a variable's array is wanted, if anywhere.
std::string WholeRoutine::place_for(VariableId id) {
  const auto wanted = places_.find(id);
  if (wanted == places_.end()) return "";
  made_at_place_.insert(id);
  return wanted->second;
}

void WholeRoutine::define_scatter(const std::string& to, const Term& term, const std::string& place) {
  const std::string type = type_text(term.type().element), count = size(term.type());
  const std::string places = array(*term.arguments[0]), values_of = values(term);
  const std::string into =
      term.arguments.size() > 2 ? array(*term.arguments[2]) : "[&](size_t) HWY_ATTR { return " + type + "{}; }";
  const std::string memory = to + "_at";
  out_.line(type + "* const " + memory + " = " +
            (place.empty() ? "taken<" + type + ">(" + count + ", memory)" : place) + ";");
  out_.line("fill(" + count + ", " + into + ", " + memory + ");");
  note_kept(to, into, term.type());
  const std::string to_all =
      size(term.arguments[0]->type()) + ", " + places + ", " + values_of + ", " + count + ", " + memory;
  if (term.op == Op::kScatter) {
    out_.line("set_at(" + to_all + ");");
  } else {
    const ScalarType element = term.type().element;
    const bool narrow = element.is_integer() && element.bits < 32;
    const std::string sum = operation_text(Op::kAdd, element, {"a", "b"});
    const ScalarType wide = element.is_float() || element == kUintType ? element : kIntType;
    const std::string value =
        narrow ? conversion_text(wide, element, operation_text(Op::kAdd, wide, {"int32_t(a)", "int32_t(b)"})) : sum;
    out_.line("add_at(" + to_all + ", [](" + type + " a, " + type + " b) HWY_ATTR -> " + type + " { return " + value +
              "; });");
  }
  out_.line("[[maybe_unused]] const Array<" + type + "> " + to + "{" + memory + "};");
}

/// Gives names to the reductions in a value, which are loops of their own.
void WholeRoutine::hoist(const Term& term) {
  if (term.op == Op::kSize) return;
  if (term.op == Op::kElement) {
    hoisted_[term.arguments[0].get()] = array(*term.arguments[0]);
    return hoist(*term.arguments[1]);
  }
  for (const TermPtr& argument : term.arguments) {
    if (!argument->type().is_array()) hoist(*argument);
  }
  if (term.op != Op::kReduce) return;
  const std::string from = array(*term.arguments[0]);
  const std::string value = reduction(term, size(term.arguments[0]->type()), from);
  note_loop("`reduce`", from, term.arguments[0]->type(), 0);
  const std::string to = temporary("reduced");
  out_.line("const " + type_text(term.type().element) + " " + to + " = " + value + ";");
  hoisted_[&term] = to;
}

std::string WholeRoutine::scalar(const Term& term) {
  hoist(term);
  return expression(term);
}

std::string WholeRoutine::expression(const Term& term) {
  if (const auto found = hoisted_.find(&term); found != hoisted_.end()) return found->second;
  switch (term.op) {
    case Op::kConstant: return literal_text(term.type().element, term.number);
    case Op::kVariable: return name(term.variable);
    case Op::kParameter:
      return "static_cast<" + type_text(term.type().element) + ">(" + in_parameters(term.parameter) + ")";
    case Op::kSize: return "static_cast<uint32_t>(" + size(term.arguments.front()->type()) + ")";
    case Op::kRandomBits: return "random_" + std::to_string(term.purpose) + "(i)";
    case Op::kRandomUniform: return "uniform_from(random_" + std::to_string(term.purpose) + "(i))";
    case Op::kElement: {
      const Term& of = *term.arguments[0];
      return "element(" + size(of.type()) + ", " + expression(of) + ", " + expression(*term.arguments[1]) + ")";
    }
    case Op::kConvert:
      return conversion_text(term.arguments[0]->type().element, term.type().element, expression(*term.arguments[0]));
    default: break;
  }
  if (term.op > Op::kMax) refuse(term.at, "`" + std::string(name_of(term.op)) + "` here");
  std::vector<std::string> operands;
  for (const TermPtr& argument : term.arguments) operands.push_back(expression(*argument));
  return operation_text(term.op, term.arguments.back()->type().element, operands);
}

}  // namespace casync::compll
