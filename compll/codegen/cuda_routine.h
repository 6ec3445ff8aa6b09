// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "compll/codegen/cuda_expression.h"
#include "compll/codegen/operation_text.h"
#include "compll/codegen/writer.h"
#include "compll/ir/lower.h"
#include "compll/lang/diagnostic.h"

namespace casync::compll {

/// Thrown and caught inside the back end only, after the reason has been noted.
struct CannotWriteCuda {};

using ValueFlags = std::vector<bool>;

/// What the texts of encode and decode share.
class CudaRoutine {
 protected:
  CudaRoutine(const Program& program, const Graph& graph, const std::vector<ValueId>& seen, Writer& out,
              Diagnostics& diagnostics)
      : program_(program), graph_(graph), out_(out), diagnostics_(diagnostics), text_(graph, seen) {}

  [[noreturn]] void refuse(Span at, const std::string& what) {
    diagnostics_.add(at, what + " cannot be compiled for CUDA, only interpreted");
    throw CannotWriteCuda();
  }

  /// A value's line: `const float scale_27 = ...;`.
  void define(ValueId id, const std::string& right) {
    const Value& value = graph_[id];
    out_.source_line(value.at);
    out_.line("const " + type_text(value.type) + " " + text_.name(id) + " = " + right + ";");
  }

  /// All of `domain` that these are made of.
  ValueFlags below(const std::vector<ValueId>& targets, Domain domain) const {
    ValueFlags in(graph_.values().size(), false);
    const auto want = [&](ValueId id) { in[id] = in[id] || graph_[id].domain == domain; };
    for (const ValueId id : targets) want(id);
    for (std::size_t id = in.size(); id-- > 0;) {
      if (!in[id]) continue;
      for (const ValueId argument : graph_[static_cast<ValueId>(id)].arguments) want(argument);
    }
    return in;
  }

  std::string parameter(const Value& value) const {
    return "static_cast<" + type_text(value.type) + ">(settings.parameters[" + std::to_string(value.parameter) + "])";
  }
  std::string count(const Value& value) const {
    return value.over == Domain::kElement ? "static_cast<uint32_t>(n)"
                                          : "static_cast<uint32_t>(entries_of_blocks(n, settings.log2_block))";
  }
  /// The pointer to a section, `scale_at`; `concat` may name one thing twice.
  std::string section(std::uint32_t index) const { return section_word(program_, index) + "_at"; }

 public:
  static std::string section_word(const Program& program, std::uint32_t index) {
    const std::string& name = program.sections[index].name;
    const auto same = [&](const Section& other) { return other.name == name; };
    const bool once = std::count_if(program.sections.begin(), program.sections.end(), same) == 1;
    return (name.empty() ? "section" : name) + (once ? "" : std::to_string(index));
  }

 protected:
  std::string load_one(const Value& value, const std::string& entry) const {
    const std::string bits = std::to_string(value.type.bits);
    const std::string at = "(" + section(value.section) + ", " + entry + ")";
    if (value.type == kDoubleType) return "load_double" + at;
    return from_code(value.type, "load_one<" + bits + ">" + at);
  }
  /// An element from the bits it is stored in.
  static std::string from_code(ScalarType type, const std::string& code) {
    switch (type.kind) {
      case ScalarType::Kind::kFloat: return "from_bits(" + code + ")";
      case ScalarType::Kind::kBool: return "to_bool(" + code + ")";
      case ScalarType::Kind::kInt: return "with_sign<" + std::to_string(type.bits) + ">(" + code + ")";
      default: return code;
    }
  }
  std::string entry_bits(std::uint32_t index) const {
    return std::to_string(program_.sections[index].type.element.bits);
  }

  const Program& program_;
  const Graph& graph_;
  Writer& out_;
  Diagnostics& diagnostics_;
  CudaExpression text_;
};

}  // namespace casync::compll
