// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cuda/whole_arrays.h"

#include <algorithm>
#include <vector>

#include "base/check.h"
#include "compll/codegen/cuda/terms.h"
#include "compll/codegen/cuda/whole_routine.h"
#include "compll/codegen/text/operation_text.h"
#include "compll/lang/terms.h"

namespace casync::compll {
namespace {

// An array that costs more operations than this, or reads more than one array, is computed once if it is used again.
constexpr std::size_t kCheap = 8;
constexpr std::size_t kArray = 6;  // operations that count for reading another array

/// Returns true if an element takes random numbers.
bool draws(const Body& body) {
  bool any = false;
  for_each_term(body, [&](const Term& each) { any |= is_random(each); });
  return any;
}

}  // namespace

void CudaArrays::keep(const Type& type, CudaPlanned& planned, std::optional<VariableId> id) {
  const CudaPlanned each = planned;
  const std::string name = each.name + "_kept", element = type_text(type.element);
  const std::string address = text_.places.address_for(id, name, type), count = CudaNames::size(type);
  const std::uint32_t stage = CudaNames::is_of_blocks(type) ? each.ready.all : each.ready.own;
  text_.stages.add(stage, [=, this] {
    text_.plan.define(each);
    text_.out.line("fill(part, " + count + ", " + each.name + ", " + address + ");");
    text_.out.line("__syncthreads();");
  });
  planned = {{stage, stage + 1}, [=, this] { text_.plan.define_memory(name, element, address); }, name};
  if (CudaNames::is_of_blocks(type)) planned.ready.own = stage + 1;
}

void CudaArrays::keep_computed(const Term& term) {
  CudaPlanned& planned = text_.plan.planned_of(term);
  if (planned.computed) keep(term.type(), planned, {});
}

/// Returns true if the first use of a matrix is a product with it, which stores its elements as it computes them.
bool CudaArrays::is_filled_by_product(VariableId id) const {
  const Type& type = text_.program.variables[id].type;
  if (!type.is_over(Extent::Kind::kElements) || type.element != kFloatType) return false;
  bool is_made = false;
  for (const Step* step : text_.steps) {
    std::size_t uses = 0;
    for_each_term(*step->value, [&](const Term& each) { uses += each.op == Op::kVariable && each.variable == id; });
    if (is_made && uses != 0) {
      const Term& first = *step->value;
      if (uses != 1 || first.op != Op::kMatmul || first.form == MatmulForm::kOuter) return false;
      const Term& matrix = *first.arguments.front();
      return matrix.op == Op::kVariable && matrix.variable == id;
    }
    is_made = is_made || step->variables.front() == id;
  }
  return false;
}

void CudaArrays::plan_memory(VariableId id, const std::string& address, Ready ready) {
  const ProgramVariable& variable = text_.program.variables[id];
  const std::string name = variable.name + "_" + std::to_string(id), type = type_text(variable.type.element);
  const bool is_array = variable.type.is_array();
  text_.plan.value(id) = {ready,
                          [=, this] {
                            if (is_array) return text_.plan.define_memory(name, type, address);
                            text_.out.line("const " + type + " " + name + " = *" + address + ";");
                          },
                          name};
}

void CudaArrays::plan_section(VariableId id, const Type& type, const std::string& address) {
  const std::string name = text_.program.variables[id].name + "_" + std::to_string(id);
  const std::string element = type_text(type.element);
  const std::string section = "Section<" + element + ", " + cuda_width(type.element) + ">{" + address + "}";
  const std::string line = type.is_array() ? "const auto " + name + " = " + section + ";"
                                           : "const " + element + " " + name + " = " + section + "(0);";
  text_.plan.value(id) = {{}, [=, this] { text_.out.line(line); }, name, 0};
}

/// The rough number of operations for an element.
std::size_t CudaArrays::cost(const Term& term) const {
  if (term.op == Op::kVariable) {
    const CudaPlanned* found = text_.plan.find(term.variable);
    return found == nullptr ? 0 : found->cost;
  }
  if (term.op != Op::kMap) return 0;
  std::size_t all = kArray * (term.arguments.size() - 1);
  for (const TermPtr& argument : term.arguments) all += cost(*argument);
  const auto count = [&](const auto& self, const Term& each) -> std::size_t {
    std::size_t sum = is_random(each) ? kCheap : 1;
    for (const TermPtr& argument : each.arguments) sum += self(self, *argument);
    return sum;
  };
  for (const Step& step : term.function->steps) all += count(count, *step.value);
  for (const TermPtr& result : term.function->results) all += count(count, *result);
  return all;
}

void CudaArrays::plan_term(const Term& term) {
  if (term.op == Op::kSize || term.op == Op::kVariable) return;
  for (const TermPtr& argument : term.arguments) plan_term(*argument);
  if (term.function) {
    for (const Step& step : term.function->steps) plan_term(*step.value);
    for (const TermPtr& result : term.function->results) plan_term(*result);
  }
  if (term.op == Op::kReduce) return text_.reductions.plan_reduction(term);
  if (term.op == Op::kKthLargest) return text_.selection.plan_kth_largest(term);
  if (term.type().is_array())
    plan_array(term, text_.plan.term(term), text_.names.fresh(std::string(name_of(term.op))), {});
}

void CudaArrays::plan_steps() {
  for (const Step* step : text_.steps) plan_step(*step);
}

void CudaArrays::plan_step(const Step& step) {
  const Term& term = *step.value;
  std::size_t uses = 0;
  for (const VariableId id : step.variables) uses += text_.names.uses(id);
  if (uses == 0 || text_.places.is_changed(step)) return;
  const VariableId first = step.variables.front();
  if (term.op == Op::kVariable) {
    text_.plan.value(first) = text_.plan.value(term.variable);
    return;
  }
  const auto name_of_result = [&](VariableId id) {
    return text_.program.variables[id].name + "_" + std::to_string(id);
  };
  if (!term.type().is_array()) {
    plan_term(term);
    const std::string name = name_of_result(first);
    text_.plan.value(first) = {
        text_.plan.ready(term),
        [=, this, &term] {
          const std::string value = text_.values.scalar(term);
          text_.out.source_line(term.at);
          text_.out.line("const " + type_text(term.type().element) + " " + name + " = " + value + ";");
        },
        name, 0};
    return;
  }
  for (const TermPtr& argument : term.arguments) plan_term(*argument);
  if (term.function) {
    for (const Step& each : term.function->steps) plan_term(*each.value);
    for (const TermPtr& result : term.function->results) plan_term(*result);
  }
  if (step.variables.size() == 1) return plan_array(term, text_.plan.value(first), name_of_result(first), first);
  for (std::size_t i = 0; i < step.variables.size(); ++i) {
    if (text_.names.uses(step.variables[i]) == 0) continue;
    plan_map(term, i, text_.plan.value(step.variables[i]), name_of_result(step.variables[i]));
  }
}

void CudaArrays::plan_map(const Term& term, std::size_t result, CudaPlanned& planned, const std::string& name) {
  const std::uint32_t stage = text_.plan.ready_of_function(*term.function);
  Ready when{stage, stage};
  for (const TermPtr& argument : term.arguments) {
    when.own = std::max(when.own, text_.plan.ready(*argument).own);
    when.all = std::max(when.all, text_.plan.ready(*argument).all);
  }
  planned = {when,
             [=, this, &term] {
               std::vector<std::string> arguments;
               for (std::size_t i = 0; i < term.arguments.size(); ++i) {
                 const bool used = text_.names.uses(term.function->parameters[i]) != 0;
                 arguments.push_back(used ? text_.plan.array(*term.arguments[i]) + "(i)" : "");
               }
               for (const Step& step : term.function->steps) text_.values.prepare(*step.value);
               for (const TermPtr& each : term.function->results) text_.values.prepare(*each);
               text_.out.source_line(term.at);
               const std::size_t begin = text_.out.size();
               text_.out.open("const auto " + name + " = [&](uint64_t i) -> " + type_text(term.types[result].element));
               text_.values.write_body(*term.function, arguments, result);
               text_.out.close(";");
               std::string text = text_.out.cut(begin);
               const std::size_t body = text.find('\n');
               if (!CudaStages::has_word(text.substr(body), "i"))
                 text.replace(text.find("(uint64_t i)"), 12, "(uint64_t)");
               text_.out.append(text);
             },
             name, cost(term), true};
}

/// Plans an array that is computed once, into memory.
void CudaArrays::plan_kept(const Term& term, CudaPlanned& planned, const std::string& name,
                           std::optional<VariableId> id) {
  const std::string type = type_text(term.type().element), count = CudaNames::size(term.type());
  const std::string address = text_.places.address_for(id, name, term.type());
  const CudaPlanned each = planned;
  const std::string from = name + "_each", fill = draws(*term.function) ? "fill_neighbours" : "fill";
  const std::uint32_t stage = each.ready.own;
  CudaPlanned computed;
  plan_map(term, 0, computed, from);
  const std::string part = CudaNames::part_of(term.type());
  text_.stages.add_own(stage, [=, this, &term] {
    computed.define();
    text_.out.line((CudaNames::is_of_blocks(term.type())
                        ? "fill_blocks(part, " + CudaNames::block_size(term.type().extent->count)
                        : fill + "(" + part + ", " + count) +
                   ", " + from + ", " + address + ");");
    text_.out.line("__syncthreads();");
  });
  if (part != "part") text_.stages.keep_together();
  planned = {{stage, stage + 1}, [=, this] { text_.plan.define_memory(name, type, address); }, name, 0};
}

void CudaArrays::plan_array(const Term& term, CudaPlanned& planned, const std::string& name,
                            std::optional<VariableId> id) {
  const std::optional<ArrayOp> op = array_op(term.op);
  CASYNC_CHECK(op.has_value());
  switch (*op) {
    case ArrayOp::kMap: return plan_map_of(term, planned, name, id);
    case ArrayOp::kRange: return plan_range(term, planned, name);
    case ArrayOp::kSpread: return plan_spread(term, planned, name);
    case ArrayOp::kBlockReduce:
      return term.block.dimension ? text_.matrices.plan_vector_reduction(term, planned, name)
                                  : text_.reductions.plan_block_reduction(term, planned, name);
    case ArrayOp::kMatmul:
      return term.form == MatmulForm::kOuter ? text_.matrices.plan_outer_product(term, planned, name, id)
                                             : text_.matrices.plan_matmul(term, planned, name, id);
    case ArrayOp::kOrthonormalize: return text_.matrices.plan_orthonormalize(term, planned, name, id);
    case ArrayOp::kLargest: return text_.selection.plan_largest(term, planned, name);
    case ArrayOp::kWhere: return text_.selection.plan_where(term, planned, name);
    case ArrayOp::kSort: return text_.operators.plan_sort(term, planned, name);
    case ArrayOp::kScatter:
    case ArrayOp::kScatterAdd: return text_.operators.plan_scatter(term, planned, name, id);
    case ArrayOp::kHistogram:
      return text_.operators.plan_call(term, planned, name, "histogram", text_.plan.ready_to_share(*term.arguments[0]),
                                       CudaStages::Zeros::kCleared);
    case ArrayOp::kHadamard: return text_.operators.plan_hadamard(term, planned, name, id);
    case ArrayOp::kExchange: break;  // between two turns
    case ArrayOp::kReduce:
    case ArrayOp::kKthLargest: CASYNC_CHECK(false);  // no arrays: plan_term() plans them
  }
  text_.refuse(term.at, "`" + std::string(name_of(term.op)) + "`");
}

/// Plans a map that is computed where it is used, or once if that is cheaper.
void CudaArrays::plan_map_of(const Term& term, CudaPlanned& planned, const std::string& name,
                             std::optional<VariableId> id) {
  plan_map(term, 0, planned, name);
  const bool wanted = id && text_.places.is_wanted(*id);
  if (!id || text_.names.uses(*id) <= 1 || (!wanted && planned.cost <= kCheap)) return;
  if (!is_filled_by_product(*id)) return plan_kept(term, planned, name, id);
  planned.fills = text_.places.address_for(id, name, term.type());
}

void CudaArrays::plan_range(const Term& term, CudaPlanned& planned, const std::string& name) {
  const std::string type = type_text(term.type().element);
  planned = {{},
             [=, this] {
               text_.out.line("const auto " + name + " = [&](uint64_t i) -> " + type + " { return static_cast<" + type +
                              ">(i); };");
             },
             name,
             0,
             true};
}

void CudaArrays::plan_spread(const Term& term, CudaPlanned& planned, const std::string& name) {
  const Term& of = *term.arguments[0];
  const std::string type = type_text(term.type().element), given = CudaNames::size(of.type());
  const bool vectors = term.block.dimension.has_value();
  planned = {vectors ? Ready{text_.plan.ready(of).all, text_.plan.ready(of).all} : text_.plan.ready(of),
             [=, this, &of, &term] {
               const std::string from = text_.plan.array(of);
               const std::string which = "static_cast<uint32_t>(i) / " +
                                         (vectors ? "static_cast<uint32_t>(" + CudaNames::block_size(term.block) + ")"
                                                  : CudaNames::block_size(term.block));
               text_.out.line("const auto " + name + " = [&](uint64_t i) -> " + type + " { return " +
                              (vectors ? "element(" + given + ", " + from + ", " + which : from + "(" + which) +
                              "); };");
             },
             name, cost(of), true};
}

}  // namespace casync::compll
