// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <charconv>

#include "compll/ir/tiles/graph.h"

namespace casync::compll {
namespace {

std::string number(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof(text), value).ptr};
}

std::string size(const Constant& block, const Program& program) {
  return block.parameter ? program.parameters[*block.parameter].name : std::to_string(block.value);
}

std::string meaning(const Value& value, const Program& program) {
  std::string text;
  switch (value.kind) {
    case Value::Kind::kInput: text = "input"; break;
    case Value::Kind::kSection: text = "section " + program.sections[value.section].name; break;
    case Value::Kind::kState: text = "state " + program.states[value.state].name; break;
    case Value::Kind::kConstant: text = number(value.number); break;
    case Value::Kind::kParameter: text = "parameter " + program.parameters[value.parameter].name; break;
    case Value::Kind::kCount: text = value.over == Domain::kElement ? "count of elements" : "count of blocks"; break;
    case Value::Kind::kIndex: text = "index"; break;
    case Value::Kind::kCompute: text = std::string(name_of(value.op)); break;
    case Value::Kind::kSpread: text = "spread"; break;
    case Value::Kind::kReduce: text = "reduce " + std::string(name_of(value.reducer)); break;
    case Value::Kind::kBlockReduce: text = "block_reduce " + std::string(name_of(value.reducer)); break;
    case Value::Kind::kTransform: text = "hadamard " + size(value.rotated, program); break;
  }
  for (const ValueId id : value.arguments) text += " %" + std::to_string(id);
  if (value.kind == Value::Kind::kCompute && value.arguments.empty()) text += " " + std::to_string(value.purpose);
  return text;
}

}  // namespace

std::string text_of(const Graph& graph, const Program& program) {
  static constexpr std::array<const char*, 3> kDomains = {"tensor ", "block  ", "element"};
  std::string text;
  for (ValueId id = 0; id < graph.values().size(); ++id) {
    const Value& value = graph[id];
    text += std::string(kDomains[static_cast<std::size_t>(value.domain)]) + " %" + std::to_string(id) + " = " +
            text_of(value.type) + " " + meaning(value, program) + (value.name.empty() ? "" : "  ; " + value.name) +
            "\n";
  }
  return text;
}

}  // namespace casync::compll
