// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cpu/reduction_text.h"

namespace casync::compll {

void ReductionText::write_functions() {
  for (std::size_t i = 0; i < plan_.functions.size(); ++i) {
    const Graph& function = *plan_.functions[i].values.graph;
    const ExpressionText text(plan_.functions[i].values);
    const std::string type = ExpressionText::type(function[0].type, true);
    out_.open("struct Function" + std::to_string(i));
    out_.open("HWY_INLINE " + type + " operator()(" + type + " " + text.name(0) + ", " + type + " " + text.name(1) +
              ") const");
    for (const ValueId id : plan_.functions[i].lines) {
      const Value& value = function[id];
      out_.source_line(value.at);
      out_.line("const " + ExpressionText::type(value.type, value.domain == Domain::kElement) + " " + text.name(id) +
                " = " + text.definition(id) + ";");
    }
    out_.line("return " + text.use(graph_.functions()[i].result, true) + ";");
    out_.close();
    out_.close(";");
    out_.line("");
  }
}

std::string ReductionText::reducer(ValueId id) const {
  const Value& value = graph_[id];
  const ScalarType type = graph_[value.arguments.front()].type;
  const std::string of = "<" + ExpressionText::type(type, true) + ", " + ExpressionText::type(type, false);
  switch (value.reducer) {
    case Reducer::kMagnitude: return "Magnitude";
    case Reducer::kCount: return "Count";
    case Reducer::kSum: return type.is_float() ? "Sum" : "IntegerSum" + of + ">";
    case Reducer::kMin: return "Minimum" + of + ">";
    case Reducer::kMax: return "Maximum" + of + ">";
    case Reducer::kUser: break;
  }
  return "Fold" + of + ", Function" + std::to_string(value.function) + ">";
}

/// The result of a reducer of this name; a reduction by a function has an initial value.
std::string ReductionText::result_of(ValueId id, const std::string& name) const {
  const std::vector<ValueId>& arguments = graph_[id].arguments;
  const std::string initial = arguments.size() > 1 ? text_.use(arguments[1], false) : "";
  if (!plan_.reductions.at(id).in_chunks) return name + ".result(" + initial + ")";
  return name + "_chunks.result(" + name + (initial.empty() ? "" : ", " + initial) + ")";
}

void ReductionText::define_tensor_values(const std::vector<ValueId>& ids) {
  for (const ValueId id : ids) {
    const Value& value = graph_[id];
    switch (value.kind) {
      case Value::Kind::kParameter: define(id, parameter(value)); break;
      case Value::Kind::kCount: define(id, count(value)); break;
      case Value::Kind::kReduce: define(id, result_of(id, "tensor." + text_.name(id))); break;
      default: define(id, text_.definition(id)); break;
    }
  }
}

void ReductionText::write_chunks(ValueId id, const std::string& name) {
  if (plan_.reductions.at(id).in_chunks) out_.line("Chunks<" + reducer(id) + "> " + name + "_chunks;");
}

void ReductionText::write_block_result(ValueId id) {
  const CpuReduction& reduction = plan_.reductions.at(id);
  const std::string result = result_of(id, reduced(id)), type = ExpressionText::type(graph_[id].type, false);
  define(id, reduction.condition ? holds(*reduction.condition) + " ? " + result + " : " + type + "()" : result);
  if (reduction.in_chunks) out_.line(reduced(id) + "_chunks.clear();");
}

void ReductionText::write_take(ValueId id) {
  const std::optional<Condition>& condition = plan_.reductions.at(id).condition;
  if (condition) out_.open("if (" + holds(*condition) + ")");
  write_take_always(id);
  if (condition) out_.close();
}

std::string ReductionText::holds(const Condition& condition) const {
  return (condition.holds ? "" : "!") + text_.use(condition.value, false);
}

void ReductionText::write_take_always(ValueId id) {
  const CpuReduction& reduction = plan_.reductions.at(id);
  out_.line(reduced(id) + ".take(" + text_.use(reduction.taken, true) + ", rest);");
  if (!reduction.in_chunks) return;
  const bool of_tensor = graph_[id].kind == Value::Kind::kReduce;
  out_.open(std::string("if (ends_chunk(") + (of_tensor ? "tile.first + i" : "i - b") + ", rest)) [[unlikely]]");
  out_.line((of_tensor ? "tensor." + text_.name(id) : reduced(id)) + "_chunks.take(" + reduced(id) + ".result());");
  out_.line(reduced(id) + " = " + reducer(id) + "();");
  out_.close();
}

void ReductionText::write_tensor() {
  out_.line("/// What is reduced over the whole tensor.");
  out_.open("struct Tensor");
  out_.line("HWY_INLINE Tensor() {}");
  for (const CpuPass& pass : plan_.passes) {
    for (const ValueId id : pass.reductions) {
      out_.line(reducer(id) + " " + text_.name(id) + ";");
      write_chunks(id, text_.name(id));
    }
  }
  out_.close(";");
  out_.line("static_assert(sizeof(Tensor) <= kMostTensorBytes);");
  out_.line("");
}

}  // namespace casync::compll
