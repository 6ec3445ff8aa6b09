// SPDX-License-Identifier: Apache-2.0
//
// Arrays of a routine: functions of an element, computed where they are used or once into memory.
#include <algorithm>

#include "base/check.h"
#include "compll/codegen/operation_text.h"
#include "compll/codegen/whole_routine.h"
#include "compll/lang/terms.h"

namespace casync::compll {
namespace {

// An array that costs more operations than this is computed once if it is used more than once.
constexpr std::size_t kCheap = 60;
// Operations that drawing a random number counts as: drawn once, it is in memory.
constexpr std::size_t kRandomCost = 8;

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
  const std::optional<ArrayOp> op = array_op(term.op);
  CASYNC_CHECK(op.has_value());
  switch (*op) {
    case ArrayOp::kMap: return define_map_of(to, term, id);
    case ArrayOp::kRange: return define_range(to, term);
    case ArrayOp::kSpread: return define_spread(to, term);
    case ArrayOp::kScatter:
    case ArrayOp::kScatterAdd: return define_scatter(to, term, id);
    case ArrayOp::kLargest: return define_largest(to, term, id);
    case ArrayOp::kBlockReduce: return define_of_blocks(to, term);
    case ArrayOp::kHadamard: return define_hadamard(to, term);
    case ArrayOp::kWhere: return define_where(to, term);
    case ArrayOp::kSort: return define_sort(to, term);
    case ArrayOp::kHistogram: return define_histogram(to, term);
    case ArrayOp::kMatmul:
    case ArrayOp::kOrthonormalize:
    case ArrayOp::kExchange: break;  // in programs that exchange: rounds_operators.cc
    case ArrayOp::kReduce:
    case ArrayOp::kKthLargest: CASYNC_CHECK(false);  // no arrays: hoist() names them
  }
  refuse(term.at, "`" + std::string(name_of(term.op)) + "`");
}

/// Defines a map where it is used, or stores it if that is cheaper or it has to be whole.
void WholeRoutine::define_map_of(const std::string& to, const Term& term, std::optional<VariableId> id) {
  const bool of_blocks = term.type().is_over(Extent::Kind::kBlocks);
  const bool once = !id && !of_blocks && !picks(*term.function);
  const bool of_elements = term.type().is_over(Extent::Kind::kElements);
  const bool lazy = once || (of_elements && !(id && cost(term) > kCheap && uses_[*id] > 1));
  if (!lazy && !of_blocks && is_gather(*term.function)) return define_gather(to, term);
  const std::string from = lazy ? to : temporary("each");
  define_map(from, term);
  if (id) cost_[*id] = lazy ? cost(term) : 0;
  if (!lazy) of_blocks ? define_block_values(to, from, term) : define_kept(to, from, term.type());
}

void WholeRoutine::define_range(const std::string& to, const Term& term) {
  out_.line("const auto " + to + " = [&](auto i) COMPLL_INLINE { return index_of<" + type_text(term.type().element) +
            ">(i); };");
}

void WholeRoutine::define_spread(const std::string& to, const Term& term) {
  const std::string from = array(*term.arguments.front()), type = type_text(term.type().element);
  out_.line("const Spread<" + type + ", decltype(" + from + ")> " + to + "{" + from + ", " + block_size(term.block) +
            "};");
  if (level_.count(from) != 0) level_[to] = level_[from];
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
  if (!type.is_over(Extent::Kind::kElements)) {
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
    const bool keep = !term.type().is_over(Extent::Kind::kElements) || (cost(term) > kCheap && uses_[id] > 1);
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
    if (term.type().is_over(Extent::Kind::kElements)) begin_copies(id, to);
  }
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
