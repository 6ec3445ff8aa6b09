// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cuda_whole_routine.h"

#include <algorithm>

#include "base/check.h"
#include "compll/codegen/cuda_routine.h"
#include "compll/codegen/cuda_terms.h"
#include "compll/codegen/operation_text.h"
#include "compll/lang/terms.h"

namespace casync::compll {
namespace {

// An array that costs more operations than this, or reads more than one array, is computed once if it is used again.
constexpr std::size_t kCheap = 8;
constexpr std::size_t kArray = 6;  // operations that count for reading another array

std::vector<const Step*> all_of(const std::vector<Step>& steps) {
  std::vector<const Step*> all;
  all.reserve(steps.size());
  for (const Step& step : steps) all.push_back(&step);
  return all;
}

/// Returns true if an element takes random numbers.
bool draws(const Body& body) {
  bool any = false;
  for_each_term(body, [&](const Term& each) { any |= is_random(each); });
  return any;
}

}  // namespace

CudaWholeRoutine::CudaWholeRoutine(const Program& program, const Routine& routine, Writer& out,
                                   Diagnostics& diagnostics)
    : program_(program),
      routine_(routine),
      steps_of_program_(all_of(routine.steps)),
      out_(out),
      diagnostics_(diagnostics),
      uses_(program.variables.size(), 0) {
  for (const TermPtr& section : routine.sections) count_uses(*section);
  for (const VariableId id : routine.states_then) ++uses_[id];
  if (routine.result) count_uses(*routine.result);
  count_uses(steps_of_program_);
  std::vector<const Term*> wanted;
  for (const TermPtr& section : routine.sections) wanted.push_back(section.get());
  if (routine.result) wanted.push_back(routine.result.get());
  needed_if_ = reductions_needed_if(steps_of_program_, wanted, routine.states_then);
}

CudaWholeRoutine::CudaWholeRoutine(const Program& program, const TurnPlan& turn, const std::vector<VariableId>& kept,
                                   Writer& out, Diagnostics& diagnostics)
    : program_(program),
      routine_(*program.synchronize),
      steps_of_program_(turn.steps),
      out_(out),
      diagnostics_(diagnostics),
      uses_(program.variables.size(), 0) {
  for (const VariableId id : kept) ++uses_[id];
  count_uses(*turn.given);
  count_uses(steps_of_program_);
  needed_if_ = reductions_needed_if(steps_of_program_, {turn.given}, kept);
}

void CudaWholeRoutine::refuse(Span at, const std::string& what) {
  diagnostics_.add(at, what + " cannot be compiled for CUDA, only interpreted");
  throw CannotWriteCuda();
}

void CudaWholeRoutine::count_uses(const Term& term, std::size_t times) {
  if (term.op == Op::kVariable) uses_[term.variable] += times;
  for (const TermPtr& argument : term.arguments) {
    count_uses(*argument, times);
  }
  if (term.function) count_uses(*term.function);
}
void CudaWholeRoutine::count_uses(const Body& body) {
  for (const TermPtr& result : body.results) count_uses(*result);
  count_uses(all_of(body.steps));
}
/// Goes from the last step to the first: a variable without uses uses nothing.
void CudaWholeRoutine::count_uses(const std::vector<const Step*>& steps) {
  for (std::size_t i = steps.size(); i-- > 0;) {
    std::size_t uses = 0;
    for (const VariableId id : steps[i]->variables) uses += uses_[id];
    if (uses != 0) count_uses(*steps[i]->value, steps[i]->value->op == Op::kVariable ? uses : 1);
  }
}

/// The variable that this one is another name of.
VariableId CudaWholeRoutine::made_as(VariableId id) const {
  for (const Step* step : steps_of_program_) {
    if (step->variables.front() == id && step->value->op == Op::kVariable) return made_as(step->value->variable);
  }
  return id;
}

/// The rough number of operations for an element.
std::size_t CudaWholeRoutine::cost(const Term& term) const {
  if (term.op == Op::kVariable) {
    const auto found = values_.find(term.variable);
    return found == values_.end() ? 0 : found->second.cost;
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

std::string CudaWholeRoutine::block_size(const Constant& constant) const {
  if (constant.dimension) return *constant.dimension == Dimension::kRows ? "n.rows" : "n.columns";
  return constant.parameter ? "static_cast<uint32_t>(" + parameter(*constant.parameter) + ")"
                            : std::to_string(constant.value) + "u";
}

std::string CudaWholeRoutine::size(const Type& type) {
  if (!type.extent) return "1";
  const Constant& count = type.extent->count;
  std::string number = count.parameter ? "uint64_t(settings.parameters[" + std::to_string(*count.parameter) + "])"
                                       : "uint64_t{" + std::to_string(count.value) + "}";
  switch (type.extent->kind) {
    case Extent::Kind::kElements: break;
    case Extent::Kind::kBlocks: return "blocks_of(n, " + number + ")";
    case Extent::Kind::kFixed: return number;
    case Extent::Kind::kSized: return "size" + std::to_string(count.value);
  }
  return "n";
}

std::string CudaWholeRoutine::declared_n(const Program& program) {
  return program.synchronize ? "const Matrix& n" : "uint64_t n";
}

// The plan.

Ready CudaWholeRoutine::ready(const Term& term) const {
  if (term.op == Op::kVariable) {
    const auto found = values_.find(term.variable);
    return found == values_.end() ? Ready{} : found->second.ready;
  }
  if (term.type().is_array()) return terms_.at(&term).ready;
  const std::uint32_t stage = ready_of_scalar(term);
  return {stage, stage};
}

bool CudaWholeRoutine::is_of_blocks(const Type& type) {
  return type.extent && type.extent->kind == Extent::Kind::kBlocks;
}

/// The share of an array that a tile has: equal shares if the array's size is computed.
std::string CudaWholeRoutine::part_of(const Type& type) {
  return type.extent && type.extent->kind == Extent::Kind::kSized ? "part.evenly()" : "part";
}

/// The stage in which tiles can share an array's elements. An array with one for each block is first its own tile's.
std::uint32_t CudaWholeRoutine::ready_to_share(const Term& term) const {
  return is_of_blocks(term.type()) ? ready(term).all : ready(term).own;
}

std::uint32_t CudaWholeRoutine::ready_of_scalar(const Term& term) const {
  if (term.op == Op::kSize) return 0;
  if (reduces_array(term)) return reductions_.at(&term).ready.all;
  if (term.op == Op::kVariable) return ready(term).all;
  std::uint32_t stage = term.op == Op::kElement ? ready(*term.arguments[0]).all : 0;
  for (const TermPtr& argument : term.arguments) {
    if (!argument->type().is_array()) stage = std::max(stage, ready_of_scalar(*argument));
  }
  return stage;
}

std::uint32_t CudaWholeRoutine::ready_of_function(const Body& body) const {
  std::uint32_t stage = 0;
  for (const Step& step : body.steps) stage = std::max(stage, ready_of_scalar(*step.value));
  for (const TermPtr& result : body.results) stage = std::max(stage, ready_of_scalar(*result));
  return stage;
}

void CudaWholeRoutine::plan_term(const Term& term) {
  if (term.op == Op::kSize || term.op == Op::kVariable) return;
  for (const TermPtr& argument : term.arguments) plan_term(*argument);
  if (term.function) {
    for (const Step& step : term.function->steps) plan_term(*step.value);
    for (const TermPtr& result : term.function->results) plan_term(*result);
  }
  if (term.op == Op::kReduce) return plan_reduction(term);
  if (term.op == Op::kKthLargest) return plan_kth_largest(term);
  if (term.type().is_array()) plan_array(term, terms_[&term], fresh(std::string(name_of(term.op))), {});
}

void CudaWholeRoutine::plan_steps() {
  for (const Step* step : steps_of_program_) plan_step(*step);
}

void CudaWholeRoutine::plan_step(const Step& step) {
  const Term& term = *step.value;
  std::size_t uses = 0;
  for (const VariableId id : step.variables) uses += uses_[id];
  if (uses == 0 || is_changed(step)) return;
  const VariableId first = step.variables.front();
  if (term.op == Op::kVariable) {
    values_[first] = values_.at(term.variable);
    return;
  }
  const auto name_of_result = [&](VariableId id) { return program_.variables[id].name + "_" + std::to_string(id); };
  if (!term.type().is_array()) {
    plan_term(term);
    const std::string name = name_of_result(first);
    values_[first] = {ready(term),
                      [=, this, &term] {
                        const std::string value = scalar(term);
                        out_.source_line(term.at);
                        out_.line("const " + type_text(term.type().element) + " " + name + " = " + value + ";");
                      },
                      name, 0};
    return;
  }
  for (const TermPtr& argument : term.arguments) plan_term(*argument);
  if (term.function) {
    for (const Step& each : term.function->steps) plan_term(*each.value);
    for (const TermPtr& result : term.function->results) plan_term(*result);
  }
  if (step.variables.size() == 1) return plan_array(term, values_[first], name_of_result(first), first);
  for (std::size_t i = 0; i < step.variables.size(); ++i) {
    if (uses_[step.variables[i]] == 0) continue;
    plan_map(term, i, values_[step.variables[i]], name_of_result(step.variables[i]));
  }
}

void CudaWholeRoutine::plan_map(const Term& term, std::size_t result, Planned& planned, const std::string& name) {
  const std::uint32_t stage = ready_of_function(*term.function);
  Ready when{stage, stage};
  for (const TermPtr& argument : term.arguments) {
    when.own = std::max(when.own, ready(*argument).own);
    when.all = std::max(when.all, ready(*argument).all);
  }
  planned = {when,
             [=, this, &term] {
               std::vector<std::string> arguments;
               for (std::size_t i = 0; i < term.arguments.size(); ++i) {
                 const bool used = uses_[term.function->parameters[i]] != 0;
                 arguments.push_back(used ? array(*term.arguments[i]) + "(i)" : "");
               }
               for (const Step& step : term.function->steps) prepare(*step.value);
               for (const TermPtr& each : term.function->results) prepare(*each);
               out_.source_line(term.at);
               const std::size_t begin = out_.size();
               out_.open("const auto " + name + " = [&](uint64_t i) -> " + type_text(term.types[result].element));
               write_body(*term.function, arguments, result);
               out_.close(";");
               std::string text = out_.cut(begin);
               const std::size_t body = text.find('\n');
               if (!has_word(text.substr(body), "i")) text.replace(text.find("(uint64_t i)"), 12, "(uint64_t)");
               out_.append(text);
             },
             name, cost(term), true};
}

/// The address at which an array is made: the one it is wanted at, or memory of its own.
std::string CudaWholeRoutine::address_for(std::optional<VariableId> id, const std::string& word, const Type& type) {
  const bool is_wanted = id && places_.count(*id) != 0;
  if (is_wanted) made_at_place_.insert(*id);
  if (is_wanted && places_.at(*id).back() != ',') return places_.at(*id);
  const std::string own = place(word, cuda_bytes(size(type), type.element));
  return is_wanted ? places_.at(*id) + " " + own + ")" : "part.at<" + type_text(type.element) + ">(" + own + ")";
}

/// Plans an array that is computed once, into memory.
void CudaWholeRoutine::plan_kept(const Term& term, Planned& planned, const std::string& name,
                                 std::optional<VariableId> id) {
  const std::string type = type_text(term.type().element), count = size(term.type());
  const std::string address = address_for(id, name, term.type());
  const Planned each = planned;
  const std::string from = name + "_each", fill = draws(*term.function) ? "fill_neighbours" : "fill";
  const std::uint32_t stage = each.ready.own;
  Planned computed;
  plan_map(term, 0, computed, from);
  const std::string part = part_of(term.type());
  add_own(stage, [=, this, &term] {
    computed.define();
    out_.line((is_of_blocks(term.type()) ? "fill_blocks(part, " + block_size(term.type().extent->count)
                                         : fill + "(" + part + ", " + count) +
              ", " + from + ", " + address + ");");
    out_.line("__syncthreads();");
  });
  if (part != "part") steps_.back().piece = 0;
  planned = {{stage, stage + 1}, [=, this] { define_memory(name, type, address); }, name, 0};
}

void CudaWholeRoutine::plan_array(const Term& term, Planned& planned, const std::string& name,
                                  std::optional<VariableId> id) {
  const std::optional<ArrayOp> op = array_op(term.op);
  CASYNC_CHECK(op.has_value());
  switch (*op) {
    case ArrayOp::kMap: return plan_map_of(term, planned, name, id);
    case ArrayOp::kRange: return plan_range(term, planned, name);
    case ArrayOp::kSpread: return plan_spread(term, planned, name);
    case ArrayOp::kBlockReduce:
      return term.block.dimension ? plan_vector_reduction(term, planned, name)
                                  : plan_block_reduction(term, planned, name);
    case ArrayOp::kMatmul:
      return term.form == MatmulForm::kOuter ? plan_outer_product(term, planned, name, id)
                                             : plan_matmul(term, planned, name, id);
    case ArrayOp::kOrthonormalize: return plan_orthonormalize(term, planned, name, id);
    case ArrayOp::kLargest: return plan_largest(term, planned, name);
    case ArrayOp::kWhere: return plan_where(term, planned, name);
    case ArrayOp::kSort: return plan_sort(term, planned, name);
    case ArrayOp::kScatter:
    case ArrayOp::kScatterAdd: return plan_scatter(term, planned, name, id);
    case ArrayOp::kHistogram: return plan_histogram(term, planned, name);
    case ArrayOp::kHadamard: return plan_hadamard(term, planned, name, id);
    case ArrayOp::kExchange: break;  // between two turns
    case ArrayOp::kReduce:
    case ArrayOp::kKthLargest: CASYNC_CHECK(false);  // no arrays: plan_term() plans them
  }
  refuse(term.at, "`" + std::string(name_of(term.op)) + "`");
}

/// Plans a map that is computed where it is used, or once if that is cheaper.
void CudaWholeRoutine::plan_map_of(const Term& term, Planned& planned, const std::string& name,
                                   std::optional<VariableId> id) {
  plan_map(term, 0, planned, name);
  const bool wanted = id && places_.count(*id) != 0;
  if (!id || uses_[*id] <= 1 || (!wanted && planned.cost <= kCheap)) return;
  if (!is_filled_by_product(*id)) return plan_kept(term, planned, name, id);
  planned.fills = address_for(id, name, term.type());
}

void CudaWholeRoutine::plan_range(const Term& term, Planned& planned, const std::string& name) {
  const std::string type = type_text(term.type().element);
  planned = {{},
             [=, this] {
               out_.line("const auto " + name + " = [&](uint64_t i) -> " + type + " { return static_cast<" + type +
                         ">(i); };");
             },
             name,
             0,
             true};
}

void CudaWholeRoutine::plan_spread(const Term& term, Planned& planned, const std::string& name) {
  const Term& of = *term.arguments[0];
  const std::string type = type_text(term.type().element), given = size(of.type());
  const bool vectors = term.block.dimension.has_value();
  planned = {vectors ? Ready{ready(of).all, ready(of).all} : ready(of),
             [=, this, &of, &term] {
               const std::string from = array(of);
               const std::string which =
                   "static_cast<uint32_t>(i) / " +
                   (vectors ? "static_cast<uint32_t>(" + block_size(term.block) + ")" : block_size(term.block));
               out_.line("const auto " + name + " = [&](uint64_t i) -> " + type + " { return " +
                         (vectors ? "element(" + given + ", " + from + ", " + which : from + "(" + which) + "); };");
             },
             name, cost(of), true};
}

}  // namespace casync::compll
