// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cpu/routine_text.h"

#include "compll/codegen/text/operation_text.h"

namespace casync::compll {
namespace {

std::string size_text(const Constant& block) {
  return block.parameter ? "static_cast<size_t>(tile.parameters[" + std::to_string(*block.parameter) + "])"
                         : "size_t{" + std::to_string(block.value) + "}";
}

}  // namespace

std::string RoutineText::block_size() const { return block_ ? size_text(*block_) : "tile.count"; }

std::string RoutineText::rotated_size(const Value& transform) const { return size_text(transform.rotated); }

void RoutineText::define(ValueId id, const std::string& right) {
  const Value& value = graph_[id];
  out_.source_line(value.at);
  out_.line("const " + ExpressionText::type(value.type, value.domain == Domain::kElement) + " " + text_.name(id) +
            " = " + right + ";");
}

std::string RoutineText::parameter(const Value& value) const {
  return "static_cast<" + ExpressionText::type(value.type, false) + ">(tile.parameters[" +
         std::to_string(value.parameter) + "])";
}

std::string RoutineText::count(const Value& value) const {
  if (value.over == Domain::kElement) return "static_cast<uint32_t>(tile.n)";
  return "static_cast<uint32_t>((tile.n + " + block_size() + " - 1) / " + block_size() + ")";
}

std::string RoutineText::random_stream(const Value& value) const {
  return "(tile.random, tile.first, " + std::to_string(value.purpose) + ")";
}

std::string RoutineText::random(const Value& value, const std::string& stream) const {
  return stream + (value.op == Op::kRandomUniform ? ".uniform(i)" : ".bits(i)");
}

void RoutineText::define_random(const std::vector<ValueId>& ids) {
  for (const ValueId id : ids) out_.line("Random random" + std::to_string(id) + random_stream(graph_[id]) + ";");
}

void RoutineText::define_states(std::size_t count) {
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::string at = "(tile.states, " + std::to_string(i) + ")";
    out_.line("[[maybe_unused]] const float* const " + state(i) + " = state_in" + at + ";");
    out_.line("[[maybe_unused]] float* const " + state(i) + "_then = state_out" + at + ";");
  }
  if (count != 0) out_.line("[[maybe_unused]] const bool keeps_states = tile.states.out != nullptr;");
}

std::string RoutineText::load_state(const Value& value) const {
  return "load_state(" + state(value.state) + ", " + literal_text(kFloatType, program_.states[value.state].initial) +
         ", i, rest)";
}

std::string RoutineText::store_state(const Output& output) const {
  return "write_kept(" + text_.use(output.value, true) + ", " + state(output.index) + "_then, i, rest, mode);";
}

std::string RoutineText::index(const Value& value) const {
  return "index_group<" + ExpressionText::type(value.type, true) + ">(tile.first + i)";
}

}  // namespace casync::compll
