// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "compll/codegen/cpu/expression_text.h"
#include "compll/codegen/text/operation_text.h"
#include "compll/codegen/text/writer.h"
#include "compll/ir/tiles/lower.h"
#include "compll/ir/tiles/schedule.h"
#include "compll/lang/diagnostic.h"

namespace casync::compll {

/// Thrown and caught inside the back end only, after the reason was added to the diagnostics.
struct CannotWrite {};

/// The part that the texts of encode and decode share.
class RoutineText {
 protected:
  /// Writes the values that `results` need.
  RoutineText(const Program& program, const Graph& graph, const std::vector<ValueId>& results, const Lowered& lowered,
              Writer& out, Diagnostics& diagnostics)
      : program_(program),
        graph_(graph),
        lowered_(lowered),
        out_(out),
        diagnostics_(diagnostics),
        text_(graph, idioms_of(graph, results)) {}

  [[noreturn]] void refuse(Span at, const std::string& what) {
    diagnostics_.add(at, what + " cannot be compiled for the CPU, only interpreted");
    throw CannotWrite();
  }

  std::string block_size() const {
    if (!lowered_.block) return "tile.count";
    return size_text(*lowered_.block);
  }
  static std::string size_text(const Constant& block) {
    return block.parameter ? "static_cast<size_t>(tile.parameters[" + std::to_string(*block.parameter) + "])"
                           : "size_t{" + std::to_string(block.value) + "}";
  }

  /// The number of elements that a transform takes together.
  std::string turned_size(const Value& transform) const { return size_text(transform.turned); }

  /// A value's line: `const float scale_27 = ...;`.
  void define(ValueId id, const std::string& right) {
    const Value& value = graph_[id];
    out_.source_line(value.at);
    out_.line("const " + ExpressionText::type(value.type, value.domain == Domain::kElement) + " " + text_.name(id) +
              " = " + right + ";");
  }

  /// The functions that the program reduces by.
  void write_functions() {
    for (std::size_t i = 0; i < graph_.functions().size(); ++i) {
      const ReducerFunction& function = graph_.functions()[i];
      ExpressionText text(function.graph);
      const std::string type = ExpressionText::type(function.graph[0].type, true);
      out_.open("struct Function" + std::to_string(i));
      out_.open("HWY_INLINE " + type + " operator()(" + type + " " + text.name(0) + ", " + type + " " + text.name(1) +
                ") const");
      for (ValueId id = 2; id < function.graph.values().size(); ++id) {
        const Value& value = function.graph[id];
        if (!text.has_line(id)) continue;
        out_.source_line(value.at);
        out_.line("const " + ExpressionText::type(value.type, value.domain == Domain::kElement) + " " + text.name(id) +
                  " = " + text.definition(id) + ";");
      }
      out_.line("return " + text.use(function.result, true) + ";");
      out_.close();
      out_.close(";");
      out_.line("");
    }
  }

  /// The class that reduces so.
  std::string reducer(const Value& value) {
    const Value& argument = graph_[value.arguments.front()];
    const std::string one = ExpressionText::type(argument.type, false),
                      group = ExpressionText::type(argument.type, true);
    if (value.over != Domain::kElement) refuse(value.at, "a reduction of blocks");
    switch (value.reducer) {
      case Reducer::kMagnitude: return "Magnitude";
      case Reducer::kCount: return "Count";
      case Reducer::kSum: return argument.type.is_float() ? "Sum" : "IntegerSum<" + group + ", " + one + ">";
      case Reducer::kMin:
      case Reducer::kMax:
        if (argument.type == kDoubleType || argument.type.bits != 32) break;
        return std::string(value.reducer == Reducer::kMin ? "Minimum<" : "Maximum<") + group + ", " + one + ">";
      case Reducer::kUser:
        if (argument.type.bits != 32) break;
        return "Fold<" + group + ", " + one + ", Function" + std::to_string(value.function) + ">";
    }
    refuse(value.at, "this reduction");
  }

  /// Returns true if a result depends on the order of elements: with more than a chunk of them it is then combined from
  /// chunks. Blocks that are smaller than a chunk do not need that.
  bool is_in_chunks(const Value& value) const {
    const ScalarType type = graph_[value.arguments.front()].type;
    if (value.kind == Value::Kind::kBlockReduce && !lowered_.block->parameter && lowered_.block->value <= 4096)
      return false;
    switch (value.reducer) {
      case Reducer::kSum: return type.is_float();
      case Reducer::kUser: return true;
      default: return false;
    }
  }

  /// The result of `reducer`; a reduction by a function has an initial value.
  std::string result_of(const Value& value, const std::string& reducer) const {
    const std::string initial = value.arguments.size() > 1 ? text_.use(value.arguments[1], false) : "";
    if (!is_in_chunks(value)) return reducer + ".result(" + initial + ")";
    return reducer + "_chunks.result(" + reducer + (initial.empty() ? "" : ", " + initial) + ")";
  }

  /// Defines the tensor's values that `needed` are made of, in order, whatever pass has computed them.
  void define_tensor_values(const std::vector<bool>& needed) {
    for (ValueId id = 0; id < graph_.values().size(); ++id) {
      const Value& value = graph_[id];
      if (!needed[id] || value.domain != Domain::kTensor || !text_.has_line(id)) continue;
      switch (value.kind) {
        case Value::Kind::kParameter: define(id, parameter(value)); break;
        case Value::Kind::kCount: define(id, count(value)); break;
        case Value::Kind::kReduce: define(id, result_of(value, "tensor." + text_.name(id))); break;
        case Value::Kind::kSection: define(id, load_one(value, "0")); break;
        default: define(id, text_.definition(id)); break;
      }
    }
  }

  /// These values, and all that they are made of.
  std::vector<bool> below(std::vector<bool> needed) const {
    for (std::size_t id = needed.size(); id-- > 0;) {
      if (!needed[id]) continue;
      for (const ValueId argument : graph_[static_cast<ValueId>(id)].arguments) needed[argument] = true;
    }
    return needed;
  }

  /// Marks the operands that a value still needs: of a reduction the initial value, not the elements, which are over.
  static void need_arguments(const Value& value, std::vector<bool>& needed) {
    for (std::size_t i = value.kind == Value::Kind::kReduce ? 1 : 0; i < value.arguments.size(); ++i) {
      needed[value.arguments[i]] = true;
    }
  }

  /// The tensor's values that a pass needs.
  std::vector<bool> needed_of_tensor(const Pass& pass) const {
    std::vector<bool> needed(graph_.values().size(), false);
    for (const Phase& phase : pass.phases) {
      for (const ValueId id : phase.elements) needed[id] = true;
      for (const ValueId id : phase.of_block) needed[id] = true;
      for (const ValueId id : phase.reductions) needed[graph_[id].arguments.front()] = true;
      for (const ValueId id : phase.transforms) needed[graph_[id].arguments.front()] = true;
      for (const Output& output : phase.stores) needed[output.value] = true;
    }
    for (ValueId id = 0; id < needed.size(); ++id) {  // skips operands of the tensor's reductions: those are over
      if (needed[id] && graph_[id].domain != Domain::kTensor) {
        for (const ValueId argument : graph_[id].arguments) needed[argument] = true;
      }
    }
    for (std::size_t id = needed.size(); id-- > 0;) {
      const Value& value = graph_[static_cast<ValueId>(id)];
      if (needed[id] && value.domain == Domain::kTensor) need_arguments(value, needed);
    }
    return needed;
  }

  std::string parameter(const Value& value) const {
    return "static_cast<" + ExpressionText::type(value.type, false) + ">(tile.parameters[" +
           std::to_string(value.parameter) + "])";
  }
  std::string count(const Value& value) const {
    if (value.over == Domain::kElement) return "static_cast<uint32_t>(tile.n)";
    return "static_cast<uint32_t>((tile.n + " + block_size() + " - 1) / " + block_size() + ")";
  }
  /// The pointer to a section; `concat` may name one thing twice.
  std::string section(std::uint32_t index) const { return section_word(index, "_at"); }
  /// The object that packs the section's codes.
  std::string packed(std::uint32_t index) const { return section_word(index, "_packed"); }
  std::string section_word(std::uint32_t index, const std::string& what) const {
    const std::string& name = program_.sections[index].name;
    const auto same = [&](const Section& other) { return other.name == name; };
    const bool once = std::count_if(program_.sections.begin(), program_.sections.end(), same) == 1;
    return name + what + (once ? "" : std::to_string(index));
  }
  std::string load_one(const Value& value, const std::string& index) const {
    const std::string at = "(" + section(value.section) + ", " + index + ")";
    if (value.type == kFloatType) return "load_one_float" + at;
    if (value.type == kTritType) return "load_one_trit" + at;
    const std::string kind = value.type.kind == ScalarType::Kind::kInt ? "int" : "uint";
    return "load_one_" + kind + "<" + std::to_string(value.type.bits) + ">" + at;
  }
  std::string load_group(const Value& value) const {
    const std::string at = "(" + section(value.section) + ", i, rest)";
    if (value.type == kTritType) return "load_trits(" + section(value.section) + ", tile.first % 5 + i, rest)";
    if (value.type == kFloatType) return "load_float" + at;
    if (value.type == kBoolType) return "to_bool(load_uint<1>" + at + ")";
    const std::string kind = value.type.kind == ScalarType::Kind::kInt ? "int" : "uint";
    return "load_" + kind + "<" + std::to_string(value.type.bits) + ">" + at;
  }
  static std::string fetch(ScalarType type, const std::string& section) {
    const std::string function = type == kTritType ? "fetch_trits" : "fetch_section<" + std::to_string(type.bits) + ">";
    return function + "(" + section + ", i);";
  }
  static std::string store_one(ScalarType type, const std::string& value, const std::string& at) {
    const std::string function = type == kTritType ? "store_one_trit" : "store_one<" + std::to_string(type.bits) + ">";
    return function + "(" + value + ", " + at + ");";
  }
  /// Stores sixteen elements. Trits continue in the byte that the previous tile has begun.
  std::string store_group(ScalarType type, const std::string& value, std::uint32_t index) const {
    if (is_packed(type)) return packed(index) + ".store(" + value + ", i, rest);";
    if (type == kTritType) return "store_trits(" + value + ", " + section(index) + ", tile.first % 5 + i, rest);";
    return "store_section<" + std::to_string(type.bits) + ">(" + value + ", " + section(index) + ", i, rest);";
  }
  /// The random numbers of one place in the program.
  std::string random_stream(const Value& value) const {
    return "(tile.random, tile.first, " + std::to_string(value.purpose) + ")";
  }
  std::string random(const Value& value, const std::string& stream) const {
    return stream + (value.op == Op::kRandomUniform ? ".uniform(i)" : ".bits(i)");
  }
  static bool is_random(const Value& value) {
    return value.kind == Value::Kind::kCompute && value.domain == Domain::kElement && value.arguments.empty();
  }
  /// A state's name is state0, and that of its new elements state0_then: no value has such a name.
  static std::string state(std::uint32_t index) { return "state" + std::to_string(index); }
  void define_states(std::size_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
      const std::string at = "(tile.states, " + std::to_string(i) + ")";
      out_.line("[[maybe_unused]] const float* const " + state(i) + " = state_in" + at + ";");
      out_.line("[[maybe_unused]] float* const " + state(i) + "_then = state_out" + at + ";");
    }
    if (count != 0) out_.line("[[maybe_unused]] const bool keeps_states = tile.states.out != nullptr;");
  }
  std::string load_state(const Value& value) const {
    return "load_state(" + state(value.state) + ", " + literal_text(kFloatType, program_.states[value.state].initial) +
           ", i, rest)";
  }
  std::string store_state(const Output& output) const {
    return "write_kept(" + text_.use(output.value, true) + ", " + state(output.index) + "_then, i, rest, mode);";
  }
  std::string index(const Value& value) const {
    return "index_group<" + ExpressionText::type(value.type, true) + ">(tile.first + i)";
  }

  /// The condition for which this value is 1 and else 0, or the value itself.
  ValueId as_bool(ValueId id) const {
    const Value& value = graph_[id];
    const bool of_bool = value.kind == Value::Kind::kCompute && value.op == Op::kConvert &&
                         value.type.kind == ScalarType::Kind::kUint &&
                         graph_[value.arguments.front()].type == kBoolType;
    return of_bool ? value.arguments.front() : id;
  }

  void check_element(const Value& value) {
    if (value.type != kDoubleType && !uses_double(value)) return;
    if (value.kind != Value::Kind::kCompute) return;
    const bool arithmetic =
        value.op == Op::kAdd || value.op == Op::kSubtract || value.op == Op::kMultiply || value.op == Op::kDivide;
    const bool widens =
        value.op == Op::kConvert && value.type == kDoubleType && graph_[value.arguments[0]].type != kBoolType;
    const bool narrows = value.op == Op::kConvert && value.type == kFloatType;
    if (!arithmetic && !widens && !narrows) refuse(value.at, "this operation on a double of each element");
  }
  bool uses_double(const Value& value) const {
    return std::any_of(value.arguments.begin(), value.arguments.end(), [&](ValueId id) {
      return graph_[id].type == kDoubleType && graph_[id].domain == Domain::kElement;
    });
  }

  const Program& program_;
  const Graph& graph_;
  const Lowered& lowered_;
  Writer& out_;
  Diagnostics& diagnostics_;
  ExpressionText text_;
};

}  // namespace casync::compll
