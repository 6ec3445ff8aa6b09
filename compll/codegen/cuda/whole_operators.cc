// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cuda/whole_operators.h"

#include <algorithm>
#include <set>

#include "compll/codegen/cuda/terms.h"
#include "compll/codegen/cuda/whole_routine.h"
#include "compll/codegen/text/operation_text.h"
#include "compll/lang/terms.h"

namespace casync::compll {

/// Returns true if the function compares the two numbers themselves: `a < b`, or `a > b`.
bool CudaOperators::compares_numbers(const Term& term) {
  const ScalarType element = term.type().element;
  if (element == kDoubleType || element == kBoolType) return false;
  if (!term.function) return true;
  const Body& body = *term.function;
  const auto made_of = [&](const Term* each) {
    for (std::size_t i = body.steps.size(); i-- > 0;) {
      const bool makes = each->op == Op::kVariable && body.steps[i].variables.front() == each->variable;
      if (makes) each = body.steps[i].value.get();
    }
    return each;
  };
  const Term& result = *made_of(body.results.front().get());
  if (result.op != Op::kLess) return false;
  std::set<VariableId> sides;
  for (const TermPtr& side : result.arguments) {
    const Term& from = *made_of(side.get());
    if (from.op == Op::kVariable) sides.insert(from.variable);
  }
  return sides == std::set<VariableId>(body.parameters.begin(), body.parameters.end());
}

void CudaOperators::plan_sort(const Term& term, CudaPlanned& planned, const std::string& name) {
  const Term& of = *term.arguments[0];
  const ScalarType element = term.type().element;
  const std::string type = type_text(element), count = CudaNames::size(term.type()), before = name + "_before";
  const std::string address = text_.stages.memory(type, name, cuda_bytes(count, element));
  const std::string spare = text_.stages.memory(type, name + "_spare", cuda_bytes(count, element));
  const auto define_before = [=, this, &term] {
    if (term.function) {
      for (const Step& step : term.function->steps) text_.values.prepare(*step.value);
      for (const TermPtr& each : term.function->results) text_.values.prepare(*each);
    }
    text_.out.source_line(term.at);
    text_.out.open("const auto " + before + " = [&](" + type + " a, " + type + " b) -> bool");
    term.function ? text_.values.write_body(*term.function, {"a", "b"}, 0) : text_.out.line("return a < b;");
    text_.out.close(";");
  };
  std::uint32_t stage = text_.plan.ready(of).all;
  if (term.function) stage = std::max(stage, text_.plan.ready_of_function(*term.function));
  if (compares_numbers(term)) {
    const std::string runs = text_.stages.memory(type, name + "_runs", cuda_bytes(count, element));
    const std::string has_nan = text_.stages.memory("uint32_t", name + "_has_nan", "4", CudaStages::Zeros::kCleared);
    text_.stages.add(stage, [=, this, &of] {
      const std::string from = text_.plan.array(of);
      define_before();
      text_.out.line("sort_runs(part, " + count + ", " + from + ", " + runs + ", " + has_nan + ", " + before + ");");
    });
    text_.stages.add(++stage, [=, this, &of] {
      const std::string from = text_.plan.array(of);
      define_before();
      text_.out.line("merge_runs(part, " + count + ", " + from + ", " + runs + ", " + address + ", " + spare + ", *" +
                     has_nan + ", " + before + ");");
    });
  } else {
    text_.stages.add(stage, [=, this, &of] {
      const std::string from = text_.plan.array(of);
      define_before();
      text_.out.line("sort(part, " + count + ", " + from + ", " + address + ", " + spare + ", " + before + ");");
    });
  }
  planned = {{stage + 1, stage + 1}, [=, this] { text_.plan.define_memory(name, type, address); }, name, 0};
}

void CudaOperators::plan_scatter(const Term& term, CudaPlanned& planned, const std::string& name,
                                 std::optional<VariableId> id) {
  const Term &places = *term.arguments[0], &values = *term.arguments[1];
  const Term* into = term.arguments.size() > 2 ? term.arguments[2].get() : nullptr;
  const ScalarType element = term.type().element;
  const std::string type = type_text(element), count = CudaNames::size(term.type()),
                    some = CudaNames::size(places.type());
  const std::string all = CudaNames::part_of(term.type());
  const std::string address = text_.places.address_for(id, name, term.type());
  const auto array_of_rest = [=, this]() -> std::string {
    return into != nullptr ? text_.plan.array(*into) : "[&](uint64_t) { return " + type + "(0); }";
  };
  const std::uint32_t before = into != nullptr ? text_.plan.ready_to_share(*into) : 0;
  std::uint32_t stage = 0;
  if (text_.places.is_distinct(places)) {
    stage = std::max({before + 1, text_.plan.ready_to_share(places), text_.plan.ready_to_share(values)});
    text_.stages.add(before, [=, this, &term] {
      const std::string from = array_of_rest();
      text_.out.source_line(term.at);
      text_.out.line("fill(" + all + ", " + count + ", " + from + ", " + address + ");");
      text_.out.line("__syncthreads();");
    });
    text_.stages.add(stage, [=, this, &term] { text_.places.write_change(term, address); });
    planned = {{stage + 1, stage + 1}, [=, this] { text_.plan.define_memory(name, type, address); }, name, 0};
    return;
  }
  if (term.op == Op::kScatterAdd) text_.refuse(term.at, "`scatter_add` at places that may be there twice");
  const std::string last = text_.stages.memory("uint32_t", name + "_last", "4 * " + count, CudaStages::Zeros::kByStep);
  const std::uint32_t found = text_.plan.ready_to_share(places);
  const std::string part = CudaNames::part_of(places.type());
  text_.stages.add(found, [=, this, &places] {
    const std::string at = text_.plan.array(places);
    text_.out.line("find_last(" + part + ", " + some + ", " + at + ", " + count + ", " + last + ");");
  });
  stage = std::max({found + 1, before, text_.plan.ready(values).all});
  text_.stages.add(stage, [=, this, &term] {
    const std::string from = text_.places.array_of_values(*term.arguments[1]), rest = array_of_rest();
    text_.out.source_line(term.at);
    text_.out.line("const auto " + name + "_values = " + from + ";");
    text_.out.line("const auto " + name + "_rest = " + rest + ";");
    text_.out.open("const auto " + name + "_each = [&](uint64_t i) -> " + type);
    text_.out.line("const uint32_t last = " + last + "[i];");
    text_.out.line("return last != 0 ? " + name + "_values(last - 1) : " + name + "_rest(i);");
    text_.out.close(";");
    text_.out.line("fill(" + all + ", " + count + ", " + name + "_each, " + address + ");");
    text_.out.line("fill(" + all + ", " + count + ", [](uint64_t) { return 0u; }, " + last + ");");
    text_.out.line("__syncthreads();");
  });
  planned = {{stage, stage + 1}, [=, this] { text_.plan.define_memory(name, type, address); }, name, 0};
}

void CudaOperators::plan_call(const Term& term, CudaPlanned& planned, const std::string& name,
                              const std::string& function, std::uint32_t stage, CudaStages::Zeros zeros) {
  const Term& of = *term.arguments[0];
  const ScalarType element = term.type().element;
  const std::string type = type_text(element), count = CudaNames::size(term.type());
  const std::string address = text_.stages.memory(type, name, cuda_bytes(count, element), zeros);
  text_.stages.add(stage, [=, this, &of] {
    const std::string from = text_.plan.array(of), share = CudaNames::part_of(of.type());
    text_.out.line(function + "(" + share + ", " + CudaNames::size(of.type()) + ", " + from + ", " + count + ", " +
                   address + ");");
  });
  planned = {{stage + 1, stage + 1}, [=, this] { text_.plan.define_memory(name, type, address); }, name, 0};
}

void CudaOperators::plan_hadamard(const Term& term, CudaPlanned& planned, const std::string& name,
                                  std::optional<VariableId> id) {
  const Term& of = *term.arguments[0];
  const std::string type = type_text(term.type().element), address = text_.places.address_for(id, name, term.type());
  const std::uint32_t stage = text_.plan.ready(of).own;
  text_.stages.add_own(stage, [=, this, &of, &term] {
    const std::string from = text_.plan.array(of);
    text_.out.source_line(term.at);
    text_.out.line("hadamard(part, " + CudaNames::block_size(term.block) + ", " + from + ", " + address + ");");
  });
  planned = {{stage, stage + 1}, [=, this] { text_.plan.define_memory(name, type, address); }, name, 0};
}

}  // namespace casync::compll
