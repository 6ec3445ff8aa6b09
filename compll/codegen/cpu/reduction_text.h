// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compll/codegen/cpu/routine_text.h"
#include "compll/ir/tiles/needs.h"
#include "compll/ops/generated.h"

namespace casync::compll {

/// Writes how a loop over elements feeds reductions, and their results.
class ReductionText : protected RoutineText {
 protected:
  ReductionText(const Program& program, const Graph& graph, const std::vector<ValueId>& results, const Lowered& lowered,
                Writer& out, Diagnostics& diagnostics)
      : RoutineText(program, graph, results, lowered, out, diagnostics), conditions_(needed_if(graph, results)) {}

  void write_chunks(ValueId id, const std::string& name) {
    if (is_in_chunks(graph_[id])) out_.line("Chunks<" + reducer(graph_[id]) + "> " + name + "_chunks;");
  }
  void write_block_result(ValueId id) {
    const std::string reduced = "reduced" + std::to_string(id);
    const std::string result = result_of(graph_[id], reduced), type = ExpressionText::type(graph_[id].type, false);
    define(id, conditions_[id] ? holds(*conditions_[id]) + " ? " + result + " : " + type + "()" : result);
    if (is_in_chunks(graph_[id])) out_.line(reduced + "_chunks.clear();");
  }
  /// Feeds a reduction. One that only some parameters need is skipped for others; so are its operands, as the compiler
  /// moves them to their use.
  void write_take(ValueId id) {
    const std::optional<Condition>& condition = conditions_[id];
    if (condition) out_.open("if (" + holds(*condition) + ")");
    write_take_always(id);
    if (condition) out_.close();
  }
  std::string holds(const Condition& condition) const {
    return (condition.holds ? "" : "!") + text_.use(condition.value, false);
  }
  void write_take_always(ValueId id) {
    const Value& value = graph_[id];
    const std::string reduced = "reduced" + std::to_string(id);
    const ValueId taken = is_count(value) ? as_bool(value.arguments.front()) : value.arguments.front();
    out_.line(reduced + ".take(" + text_.use(taken, true) + ", rest);");
    if (!is_in_chunks(value)) return;
    const bool of_tensor = value.kind == Value::Kind::kReduce;
    out_.open(std::string("if (ends_chunk(") + (of_tensor ? "tile.first + i" : "i - b") + ", rest)) [[unlikely]]");
    out_.line((of_tensor ? "tensor." + text_.name(id) : reduced) + "_chunks.take(" + reduced + ".result());");
    out_.line(reduced + " = " + reducer(value) + "();");
    out_.close();
  }

  void write_tensor(const Schedule& plan) {
    check_size_of_tensor(plan);
    out_.line("/// What is reduced over the whole tensor.");
    out_.open("struct Tensor");
    out_.line("HWY_INLINE Tensor() {}");
    for (const Pass& pass : plan.passes) {
      for_tensor_reductions(pass, [&](ValueId id) {
        text_.keep(id);
        out_.line(reducer(graph_[id]) + " " + text_.name(id) + ";");
        write_chunks(id, text_.name(id));
      });
    }
    out_.close(";");
    out_.line("static_assert(sizeof(Tensor) <= kMostTensorBytes);");
    out_.line("");
  }

  /// Checks the largest size it may have. Programs with more reductions are compiled as loops over the whole vector.
  void check_size_of_tensor(const Schedule& plan) {
    constexpr std::size_t kInChunksBytes = 1024, kOtherBytes = 128;
    std::size_t bytes = 0;
    for (const Pass& pass : plan.passes) {
      for_tensor_reductions(pass, [&](ValueId id) {
        bytes += is_in_chunks(graph_[id]) ? kInChunksBytes : kOtherBytes;
        if (bytes > kMostTensorBytes) refuse(graph_[id].at, "so many reductions of the whole vector, by tiles,");
      });
    }
  }

  template <class Body>
  void for_tensor_reductions(const Pass& pass, const Body& body) {
    for (const Phase& phase : pass.phases) {
      for (const ValueId id : phase.reductions) {
        if (graph_[id].kind == Value::Kind::kReduce) body(id);
      }
    }
  }

  static bool is_count(const Value& value) {
    const bool reduces = value.kind == Value::Kind::kReduce || value.kind == Value::Kind::kBlockReduce;
    return reduces && value.reducer == Reducer::kCount;
  }
  /// Returns true if the reduction counts all elements of a block, so that there is nothing to count.
  bool is_count_of_all(ValueId id) const {
    const Value& value = graph_[id];
    const Value& counted = graph_[value.arguments.front()];
    return is_count(value) && counted.kind == Value::Kind::kConstant && counted.number != 0;
  }

  std::vector<std::optional<Condition>> conditions_;  ///< the conditions without which reductions are not needed
};

}  // namespace casync::compll
