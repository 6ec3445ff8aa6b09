// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cpu/routine_text.h"

#include <algorithm>

#include "compll/codegen/text/operation_text.h"
#include "compll/ir/tiles/cpu/packing.h"

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

std::string RoutineText::section_word(std::uint32_t index, const std::string& what) const {
  const std::string& name = program_.sections[index].name;
  const auto same = [&](const Section& other) { return other.name == name; };
  const bool once = std::count_if(program_.sections.begin(), program_.sections.end(), same) == 1;
  return name + what + (once ? "" : std::to_string(index));
}

std::string RoutineText::load_one(const Value& value, const std::string& index) const {
  const std::string at = "(" + section(value.section) + ", " + index + ")";
  if (value.type == kFloatType) return "load_one_float" + at;
  if (value.type == kTritType) return "load_one_trit" + at;
  const std::string kind = value.type.kind == ScalarType::Kind::kInt ? "int" : "uint";
  return "load_one_" + kind + "<" + std::to_string(value.type.bits) + ">" + at;
}

std::string RoutineText::load_group(const Value& value) const {
  const std::string at = "(" + section(value.section) + ", i, rest)";
  if (value.type == kTritType) return "load_trits(" + section(value.section) + ", tile.first % 5 + i, rest)";
  if (value.type == kFloatType) return "load_float" + at;
  if (value.type == kBoolType) return "to_bool(load_uint<1>" + at + ")";
  const std::string kind = value.type.kind == ScalarType::Kind::kInt ? "int" : "uint";
  return "load_" + kind + "<" + std::to_string(value.type.bits) + ">" + at;
}

std::string RoutineText::fetch(ScalarType type, const std::string& section) {
  const std::string function = type == kTritType ? "fetch_trits" : "fetch_section<" + std::to_string(type.bits) + ">";
  return function + "(" + section + ", i);";
}

std::string RoutineText::store_one(ScalarType type, const std::string& value, const std::string& at) {
  const std::string function = type == kTritType ? "store_one_trit" : "store_one<" + std::to_string(type.bits) + ">";
  return function + "(" + value + ", " + at + ");";
}

std::string RoutineText::store_group(ScalarType type, const std::string& value, std::uint32_t index) const {
  if (is_packed(type)) return packed(index) + ".store(" + value + ", i, rest);";
  if (type == kTritType) return "store_trits(" + value + ", " + section(index) + ", tile.first % 5 + i, rest);";
  return "store_section<" + std::to_string(type.bits) + ">(" + value + ", " + section(index) + ", i, rest);";
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
