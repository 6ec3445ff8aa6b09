// SPDX-License-Identifier: Apache-2.0
//
// The plan of operators that make arrays in memory, and of reductions: their stages, and the layout of their memory.
#include <algorithm>

#include "compll/codegen/cuda_terms.h"
#include "compll/codegen/cuda_whole_routine.h"
#include "compll/codegen/operation_text.h"
#include "compll/lang/terms.h"

namespace casync::compll {

/// The class that reduces so; sets `ordered` if the order can be seen.
std::string CudaWholeRoutine::reducer(const Term& term, bool& ordered) {
  const ScalarType type = term.arguments.front()->type().element;
  const std::string of = "<" + type_text(type) + ">";
  ordered = term.reducer == Reducer::kUser || (term.reducer == Reducer::kSum && type.is_float());
  switch (term.reducer) {
    case Reducer::kMagnitude: return "Magnitude";
    case Reducer::kCount: return "Count";
    case Reducer::kSum:
      if (type == kBoolType) break;
      return type.is_float() ? "LaneSum" : "IntegerSum" + of;
    case Reducer::kMin:
    case Reducer::kMax:
      if (type == kBoolType || type == kDoubleType) break;
      return (term.reducer == Reducer::kMin ? "Minimum" : "Maximum") + of;
    case Reducer::kUser:
      if (type == kBoolType) break;
      return "LaneFold<" + type_text(type) + ", " + function(term) + ">";
  }
  refuse(term.at, "this reduction");
}

/// Names a function to reduce by: a struct ahead of the stages, which sees nothing but its arguments.
std::string CudaWholeRoutine::function(const Term& term) {
  std::string& name = functions_[&term];
  if (!name.empty()) return name;
  name = "Function" + std::to_string(functions_.size() - 1);
  std::set<VariableId> own(term.function->parameters.begin(), term.function->parameters.end());
  for (const Step& step : term.function->steps) own.insert(step.variables.begin(), step.variables.end());
  for_each_term(*term.function, [&](const Term& each) {
    if (each.op == Op::kVariable && own.count(each.variable) == 0) refuse(each.at, "a function that sees this");
  });
  function_texts_.push_back([=, this, &term] { write_function(term); });
  return name;
}

void CudaWholeRoutine::write_function(const Term& term) {
  const std::string type = type_text(program_.variables[term.function->parameters[0]].type.element);
  out_.open("struct " + functions_.at(&term));
  out_.open("COMPLL_BOTH " + type + " operator()([[maybe_unused]] " + type + " a, [[maybe_unused]] " + type +
            " b) const");
  write_body(*term.function, {"a", "b"}, 0);
  out_.close();
  out_.close(";");
  out_.forget_line();
}

/// Returns true if a reduction of nothing gives an end of 32 bits' range, which the element's type does not have.
bool CudaWholeRoutine::is_narrowed(const Term& term) {
  const ScalarType element = term.type().element;
  return (term.reducer == Reducer::kMin || term.reducer == Reducer::kMax) && element.is_integer() && element.bits != 32;
}

/// The condition in front of a call that not all parameters need.
std::string CudaWholeRoutine::only_if_needed(const Term& term) {
  const auto found = needed_if_.find(&term);
  if (found == needed_if_.end()) return "";
  const std::string value = scalar(*found->second.value);
  return "if (" + (found->second.holds ? value : "!(" + value + ")") + ") ";
}

void CudaWholeRoutine::plan_reduction(const Term& term) {
  const Term& of = *term.arguments[0];
  bool ordered = false;
  const std::string by = reducer(term, ordered), type = type_text(term.type().element);
  const std::string name = fresh(std::string(term.reducer == Reducer::kUser ? "reduced" : name_of(term.reducer)));
  const std::string slot = memory("uint64_t", name, "8", ordered ? Zeros::kNone : Zeros::kCleared);
  const Term* initial = term.arguments.size() > 1 ? term.arguments[1].get() : nullptr;
  const std::string count = size(of.type()), part = part_of(of.type());
  // Chunks are shared otherwise than elements.
  const std::uint32_t shared = ordered && part != "part" ? ready(of).all : ready_to_share(of);
  const std::uint32_t stage = std::max(shared, initial != nullptr ? ready_of_scalar(*initial) : 0);
  if (!ordered && is_reduced_with_input(term, stage)) {
    with_input_.push_back({&of, by, name + "_all", slot});
  } else if (!ordered) {
    add_own(stage, [=, this, &of, &term] {
      const std::string from = array(of), condition = only_if_needed(term);
      out_.source_line(term.at);
      out_.line(condition + "reduce_joined<" + by + ">(" + part + ", " + count + ", " + from + ", " + slot + ");");
    });
  } else {
    const std::string chunk = by == "LaneSum" ? "double" : type;
    const std::string chunks = memory(chunk, name + "_chunks", "8 * blocks_of(" + count + ", kReductionChunk)");
    add_own(
        stage,
        [=, this, &of, &term] {
          const std::string from = array(of), condition = only_if_needed(term);
          if (initial != nullptr) scalar(*initial);
          out_.source_line(term.at);
          out_.line(condition + "reduce_chunks<" + by + ">(" + part + ", " + count + ", " + from + ", " + chunks +
                    ");");
        },
        [=, this, &term] {
          out_.line(only_if_needed(term) + "finish_chunks<" + by + ">(" + count + ", " + chunks + ", " + slot +
                    (initial != nullptr ? ", " + scalar(*initial) : "") + ");");
        },
        needed_if_.count(&term) != 0 ? 1 : 4);
  }
  if (part != "part") steps_.back().piece = 0;
  const ScalarType element = term.type().element;
  const bool narrowed = is_narrowed(term);
  reductions_[&term] = {{stage + 1, stage + 1},
                        [=, this] {
                          std::string value =
                              (ordered ? "out_of_slot<" + type + ">" : by + "::value_of") + "(load_slot(" + slot + "))";
                          // Converts the result of nothing, an end of 32 bits' range, to that of the own type.
                          if (narrowed) value = cuda_conversion({element.kind, 32}, element, value);
                          out_.line("const " + type + " " + name + " = " + value + ";");
                        },
                        name,
                        0};
}

void CudaWholeRoutine::plan_block_reduction(const Term& term, Planned& planned, const std::string& name) {
  const Term& of = *term.arguments[0];
  bool ordered = false;
  const std::string by = reducer(term, ordered), type = type_text(term.type().element);
  const std::string address = memory(type, name, cuda_bytes(size(term.type()), term.type().element));
  const Term* initial = term.arguments.size() > 1 ? term.arguments[1].get() : nullptr;
  const std::uint32_t stage = std::max(ready(of).own, initial != nullptr ? ready_of_scalar(*initial) : 0);
  add_own(stage, [=, this, &of, &term] {
    const std::string from = array(of), begin = initial != nullptr ? ", " + scalar(*initial) : "";
    out_.source_line(term.at);
    out_.line(std::string(ordered ? "reduce" : "join") + "_blocks<" + by + ">(part, " + block_size(term.block) + ", " +
              from + ", " + address + begin + ");");
    out_.line("__syncthreads();");
  });
  planned = {{stage, stage + 1}, [=, this] { define_memory(name, type, address); }, name, 0};
}

/// Returns true if the function compares the two numbers themselves: `a < b`, or `a > b`.
bool CudaWholeRoutine::compares_numbers(const Term& term) {
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

void CudaWholeRoutine::plan_sort(const Term& term, Planned& planned, const std::string& name) {
  const Term& of = *term.arguments[0];
  const ScalarType element = term.type().element;
  const std::string type = type_text(element), count = size(term.type()), before = name + "_before";
  const std::string address = memory(type, name, cuda_bytes(count, element));
  const std::string spare = memory(type, name + "_spare", cuda_bytes(count, element));
  const auto define_before = [=, this, &term] {
    if (term.function) {
      for (const Step& step : term.function->steps) prepare(*step.value);
      for (const TermPtr& each : term.function->results) prepare(*each);
    }
    out_.source_line(term.at);
    out_.open("const auto " + before + " = [&](" + type + " a, " + type + " b) -> bool");
    term.function ? write_body(*term.function, {"a", "b"}, 0) : out_.line("return a < b;");
    out_.close(";");
  };
  std::uint32_t stage = ready(of).all;
  if (term.function) stage = std::max(stage, ready_of_function(*term.function));
  if (compares_numbers(term)) {
    const std::string runs = memory(type, name + "_runs", cuda_bytes(count, element));
    const std::string has_nan = memory("uint32_t", name + "_has_nan", "4", Zeros::kCleared);
    add(stage, [=, this, &of] {
      const std::string from = array(of);
      define_before();
      out_.line("sort_runs(part, " + count + ", " + from + ", " + runs + ", " + has_nan + ", " + before + ");");
    });
    add(++stage, [=, this, &of] {
      const std::string from = array(of);
      define_before();
      out_.line("merge_runs(part, " + count + ", " + from + ", " + runs + ", " + address + ", " + spare + ", *" +
                has_nan + ", " + before + ");");
    });
  } else {
    add(stage, [=, this, &of] {
      const std::string from = array(of);
      define_before();
      out_.line("sort(part, " + count + ", " + from + ", " + address + ", " + spare + ", " + before + ");");
    });
  }
  planned = {{stage + 1, stage + 1}, [=, this] { define_memory(name, type, address); }, name, 0};
}

/// Returns true if no place occurs twice: an operator has made them so, here or in the routine that sent them.
bool CudaWholeRoutine::is_distinct(const Term& places) const {
  const auto picks = [](const auto& self, const Routine& routine, const Term& term) -> bool {
    if (operation_of(term.op).traits.gives_distinct) return true;
    if (term.op != Op::kVariable) return false;
    for (const Step& step : routine.steps) {
      const bool here = step.variables.size() == 1 && step.variables.front() == term.variable;
      if (here) return self(self, routine, *step.value);
    }
    return false;
  };
  if (picks(picks, routine_, places)) return true;
  if (places.op != Op::kVariable) return false;
  for (std::size_t i = 0; i < routine_.extracted.size(); ++i) {
    if (routine_.extracted[i] != places.variable) continue;
    return picks(picks, program_.encode, *program_.encode.sections[i]) &&
           (!program_.merge || picks(picks, *program_.merge, *program_.merge->sections[i]));
  }
  return false;
}

std::string CudaWholeRoutine::array_of_values(const Term& values) {
  return values.type().is_array() ? array(values) : "[&](uint64_t) { return " + scalar(values) + "; }";
}

/// Writes the change of `scatter` to the array at this address; no place occurs twice.
void CudaWholeRoutine::write_change(const Term& term, const std::string& address) {
  const Term& places = *term.arguments[0];
  const ScalarType element = term.type().element;
  const bool adds = term.op == Op::kScatterAdd;
  const std::string at = array(places), from = array_of_values(*term.arguments[1]), type = type_text(element);
  out_.source_line(term.at);
  std::string sum = cuda_operation(Op::kAdd, element, {"a", "b"});
  if (adds && element.is_integer() && element.bits != 32) {
    sum = cuda_conversion(kIntType, element, cuda_operation(Op::kAdd, kIntType, {"int32_t(a)", "int32_t(b)"}));
  }
  out_.line(std::string(adds ? "add" : "set") + "_at(" + part_of(places.type()) + ", " + size(places.type()) + ", " +
            at + ", " + from + ", " + size(term.type()) + ", " + address +
            (adds ? ", [](" + type + " a, " + type + " b) -> " + type + " { return " + sum + "; }" : "") + ");");
}

void CudaWholeRoutine::plan_scatter(const Term& term, Planned& planned, const std::string& name,
                                    std::optional<VariableId> id) {
  const Term &places = *term.arguments[0], &values = *term.arguments[1];
  const Term* into = term.arguments.size() > 2 ? term.arguments[2].get() : nullptr;
  const ScalarType element = term.type().element;
  const std::string type = type_text(element), count = size(term.type()), some = size(places.type());
  const std::string all = part_of(term.type());
  const std::string address = address_for(id, name, term.type());
  const auto array_of_rest = [=, this]() -> std::string {
    return into != nullptr ? array(*into) : "[&](uint64_t) { return " + type + "(0); }";
  };
  const std::uint32_t before = into != nullptr ? ready_to_share(*into) : 0;
  std::uint32_t stage = 0;
  if (is_distinct(places)) {
    stage = std::max({before + 1, ready_to_share(places), ready_to_share(values)});
    add(before, [=, this, &term] {
      const std::string from = array_of_rest();
      out_.source_line(term.at);
      out_.line("fill(" + all + ", " + count + ", " + from + ", " + address + ");");
      out_.line("__syncthreads();");
    });
    add(stage, [=, this, &term] { write_change(term, address); });
    planned = {{stage + 1, stage + 1}, [=, this] { define_memory(name, type, address); }, name, 0};
    return;
  }
  if (term.op == Op::kScatterAdd) refuse(term.at, "`scatter_add` at places that may be there twice");
  const std::string last = memory("uint32_t", name + "_last", "4 * " + count, Zeros::kByStep);
  const std::uint32_t found = ready_to_share(places);
  const std::string part = part_of(places.type());
  add(found, [=, this, &places] {
    const std::string at = array(places);
    out_.line("find_last(" + part + ", " + some + ", " + at + ", " + count + ", " + last + ");");
  });
  stage = std::max({found + 1, before, ready(values).all});
  add(stage, [=, this, &term] {
    const std::string from = array_of_values(*term.arguments[1]), rest = array_of_rest();
    out_.source_line(term.at);
    out_.line("const auto " + name + "_values = " + from + ";");
    out_.line("const auto " + name + "_rest = " + rest + ";");
    out_.open("const auto " + name + "_each = [&](uint64_t i) -> " + type);
    out_.line("const uint32_t last = " + last + "[i];");
    out_.line("return last != 0 ? " + name + "_values(last - 1) : " + name + "_rest(i);");
    out_.close(";");
    out_.line("fill(" + all + ", " + count + ", " + name + "_each, " + address + ");");
    out_.line("fill(" + all + ", " + count + ", [](uint64_t) { return 0u; }, " + last + ");");
    out_.line("__syncthreads();");
  });
  planned = {{stage, stage + 1}, [=, this] { define_memory(name, type, address); }, name, 0};
}

void CudaWholeRoutine::plan_histogram(const Term& term, Planned& planned, const std::string& name) {
  const Term& of = *term.arguments[0];
  const std::string type = type_text(term.type().element), count = size(term.type());
  const std::string address = memory("uint32_t", name, "4 * " + count, Zeros::kCleared);
  const std::uint32_t stage = ready_to_share(of);
  add(stage, [=, this, &of] {
    const std::string from = array(of);
    out_.line("histogram(" + part_of(of.type()) + ", " + size(of.type()) + ", " + from + ", " + count + ", " + address +
              ");");
  });
  planned = {{stage + 1, stage + 1}, [=, this] { define_memory(name, type, address); }, name, 0};
}

void CudaWholeRoutine::plan_hadamard(const Term& term, Planned& planned, const std::string& name,
                                     std::optional<VariableId> id) {
  const Term& of = *term.arguments[0];
  const std::string type = type_text(term.type().element), address = address_for(id, name, term.type());
  const std::uint32_t stage = ready(of).own;
  add_own(stage, [=, this, &of, &term] {
    const std::string from = array(of);
    out_.source_line(term.at);
    out_.line("hadamard(part, " + block_size(term.block) + ", " + from + ", " + address + ");");
  });
  planned = {{stage, stage + 1}, [=, this] { define_memory(name, type, address); }, name, 0};
}

}  // namespace casync::compll
