// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cpu/whole_arrays.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "compll/codegen/cpu/whole_routine.h"
#include "compll/codegen/text/operation_text.h"
#include "compll/lang/terms.h"
#include "compll/ops/trits.h"

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
std::size_t WholeArrays::cost(const Term& term) const {
  if (term.op == Op::kVariable) {
    const auto found = cost_.find(term.variable);
    return found == cost_.end() ? 0 : found->second;
  }
  if (term.op != Op::kMap) return 0;
  std::size_t all = 0;
  for (const TermPtr& argument : term.arguments) all += cost(*argument);
  for_each_term(*term.function, [&](const Term& each) { all += is_random(each) ? kRandomCost : 1; });
  return all;
}

/// Returns true if the elements of a variable's array are better computed once.
bool WholeArrays::is_used_again(VariableId id, const Term& term) const {
  return cost(term) > kCheap && text_.names.uses(id) > 1;
}

void WholeArrays::rename(VariableId id, VariableId other) {
  text_.names.rename(id, text_.names.name(other));
  cost_[id] = cost_[other];
}

std::string WholeArrays::array(const Term& term) {
  if (term.op == Op::kVariable) return text_.names.name(term.variable);
  text_.settle(term);
  std::string to = text_.names.temporary(std::string(name_of(term.op)));
  define(to, term, {});
  return to;
}

std::string WholeArrays::whole_array(const Term& term) {
  std::string to = array(term);
  text_.loops.write();
  return to;
}

void WholeArrays::define(const std::string& to, const Term& term, std::optional<VariableId> id) {
  WholeOperators& operators = text_.operators;
  const std::optional<ArrayOp> op = array_op(term.op);
  CASYNC_CHECK(op.has_value());
  switch (*op) {
    case ArrayOp::kMap: return define_map(to, term, id);
    case ArrayOp::kRange: return define_range(to, term);
    case ArrayOp::kSpread: return define_spread(to, term);
    case ArrayOp::kScatter:
    case ArrayOp::kScatterAdd: return operators.define_scatter(to, term, id);
    case ArrayOp::kLargest: return operators.define_largest(to, term, id);
    case ArrayOp::kBlockReduce: return operators.define_block_reduction(to, term);
    case ArrayOp::kHadamard: return operators.define_hadamard(to, term);
    case ArrayOp::kWhere: return operators.define_where(to, term);
    case ArrayOp::kSort: return operators.define_sort(to, term);
    case ArrayOp::kHistogram: return operators.define_call(to, term, "histogram", WholeNames::size(term.type()));
    case ArrayOp::kMatmul:
    case ArrayOp::kOrthonormalize:
    case ArrayOp::kExchange: break;  // in programs that exchange: rounds_arrays.cc
    case ArrayOp::kReduce:
    case ArrayOp::kKthLargest: CASYNC_CHECK(false);  // no arrays: WholeValues names them
  }
  text_.refuse(term.at, "`" + std::string(name_of(term.op)) + "`");
}

/// Defines a map where it is used, or stores it if that is cheaper or it has to be whole.
void WholeArrays::define_map(const std::string& to, const Term& term, std::optional<VariableId> id) {
  const bool of_blocks = term.type().is_over(Extent::Kind::kBlocks);
  const bool once = !id && !of_blocks && !picks(*term.function);
  const bool of_elements = term.type().is_over(Extent::Kind::kElements);
  const bool lazy = once || (of_elements && !(id && is_used_again(*id, term)));
  if (!lazy && !of_blocks && is_gather(*term.function)) return define_gather(to, term);
  const std::string from = lazy ? to : text_.names.temporary("each");
  define_function(from, term);
  if (id) cost_[*id] = lazy ? cost(term) : 0;
  if (lazy) return;
  of_blocks ? text_.operators.define_block_values(to, from, term) : define_kept(to, from, term.type());
}

void WholeArrays::define_range(const std::string& to, const Term& term) {
  text_.out.line("const auto " + to + " = [&](auto i) COMPLL_INLINE { return index_of<" +
                 type_text(term.type().element) + ">(i); };");
}

void WholeArrays::define_spread(const std::string& to, const Term& term) {
  const std::string from = array(*term.arguments.front()), type = type_text(term.type().element);
  text_.out.line("const Spread<" + type + ", decltype(" + from + ")> " + to + "{" + from + ", " +
                 WholeNames::block_size(term.block) + "};");
  text_.loops.set_level(to, text_.loops.level(from));
}

/// Defines the elements of an array at places that are far from each other.
void WholeArrays::define_gather(const std::string& to, const Term& term) {
  const Term& of = *term.function->results.front()->arguments[0];
  const std::string places = whole_array(*term.arguments.front()), type = type_text(term.type().element);
  text_.loops.write();
  const std::string from = text_.places.picked_from(of, text_.names.name(of.variable));
  text_.out.line("[[maybe_unused]] const auto " + to + " = gathered<" + type + ">(" + WholeNames::size(term.type()) +
                 ", " + places + ", " + WholeNames::size(of.type()) + ", " + from + ", memory);");
}

/// Stores an array: in the loop that was put off, or at once if it is not over all elements.
void WholeArrays::define_kept(const std::string& to, const std::string& from, const Type& type) {
  WholeLoops& loops = text_.loops;
  const std::string element = type_text(type.element), count = WholeNames::size(type);
  if (!type.is_over(Extent::Kind::kElements)) {
    return text_.out.line("[[maybe_unused]] const auto " + to + " = kept<" + element + ">(" + count + ", " + from +
                          ", memory);");
  }
  text_.out.line("const auto " + to + " = kept_in(taken<" + element + ">(" + count + ", memory), " + from + ");");
  loops.add("`" + to.substr(0, to.rfind('_')) + "` is kept", to + ".keep(i);", from,
            bits_per_element(type.element.bits) / 8);
  loops.read(to) = loops.read(from);
  loops.set_level(to, loops.level(from));
  loops.keep(to);
}

void WholeArrays::define_rows(const Step& step) {
  WholeLoops& loops = text_.loops;
  const Term& term = *step.value;
  const bool of_elements = term.type().is_over(Extent::Kind::kElements);
  const std::string all = text_.names.temporary("all");
  define_function(all, term);
  const bool sixteen = !loops.is_one_by_one(all) || serves_sixteen(*term.function);
  for (std::size_t i = 0; i < step.variables.size(); ++i) {
    const VariableId id = step.variables[i];
    if (text_.names.uses(id) == 0) continue;
    const std::string type = type_text(term.types[i].element), to = text_.names.name(id);
    const bool keep = !of_elements || is_used_again(id, term);
    const std::string from = keep ? text_.names.temporary("each") : to;
    const std::string value = "part<" + std::to_string(i) + ">(" + all + "(i))";
    text_.out.line(sixteen ? "const auto " + from + " = [&](auto i) COMPLL_INLINE { return " + value + "; };"
                           : "const auto " + from + " = one_by_one<" + type + ">([&](size_t i) HWY_ATTR -> " + type +
                                 " { return " + value + "; });");
    loops.read(from) = loops.read(all);
    loops.set_level(from, loops.level(all));
    if (loops.is_one_by_one(all)) loops.mark_one_by_one(from);
    cost_[id] = keep ? 0 : cost(term);
    if (keep) define_kept(to, from, term.types[i]);
    if (of_elements) text_.places.begin_copies(id, to);
  }
}

/// Defines the random numbers that a function draws.
void WholeArrays::draw_numbers(const Body& body) {
  for_each_term(body, [&](const Term& each) {
    if (!is_random(each)) return;
    const std::string purpose = std::to_string(each.purpose);
    text_.out.line("const RandomArray random" + purpose + "(v.random, " + purpose + ");");
  });
}

/// Defines a map as a function of an element.
void WholeArrays::define_function(const std::string& to, const Term& term) {
  WholeLoops& loops = text_.loops;
  std::vector<std::string> arguments;
  std::size_t level = 0;
  bool one_by_one = false;
  for (std::size_t i = 0; i < term.arguments.size(); ++i) {
    arguments.push_back("");
    if (text_.names.uses(term.function->parameters[i]) == 0) continue;
    const std::string from = array(*term.arguments[i]);
    arguments.back() = from + "(i)";
    const std::map<std::string, double> read = loops.read(from);
    loops.read(to).insert(read.begin(), read.end());
    level = std::max(level, loops.level(from));
    one_by_one |= loops.is_one_by_one(from);
  }
  if (picks(*term.function)) loops.write();
  draw_numbers(*term.function);
  std::string result = type_text(term.type().element);
  const bool sixteen = serves_sixteen(*term.function), rows = term.types.size() > 1;
  if (rows) {
    result = "Row<" + result;
    for (std::size_t i = 1; i < term.types.size(); ++i) result += ", " + type_text(term.types[i].element);
    result += ">";
  }
  if (sixteen) {
    text_.out.open("const auto " + to + " = [&]([[maybe_unused]] auto i) COMPLL_INLINE");
  } else {
    text_.out.open("const auto " + to + " = " + (rows ? "" : "one_by_one<" + result + ">(") +
                   "[&]([[maybe_unused]] size_t i) HWY_ATTR -> " + result);
  }
  text_.values.write_body(*term.function, arguments, sixteen);
  text_.out.close(sixteen || rows ? ";" : ");");
  loops.set_level(to, level);
  if (one_by_one || !sixteen) loops.mark_one_by_one(to);
}

}  // namespace casync::compll
