// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "compll/codegen/cuda/expression.h"
#include "compll/codegen/text/operation_text.h"
#include "compll/codegen/text/writer.h"
#include "compll/ir/tiles/lower.h"
#include "compll/lang/diagnostic.h"

namespace casync::compll {

/// Thrown and caught inside the back end only, after the reason was added to the diagnostics.
struct CannotWriteCuda {};

using ValueFlags = std::vector<bool>;
/// Values of a thread's four neighbours that are written ahead of the loop over these.
using Turned = std::set<ValueId>;

/// The part that the texts of encode and decode share.
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

  /// All values of `domain` that these are made of.
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

  /// Returns true if a value is written for all four neighbours ahead of a loop that needs it.
  bool is_ahead(ValueId id) const { return graph_[id].kind == Value::Kind::kTransform || of_places_.contains(id); }

  /// The elements that these are made of, down to those that are written ahead.
  ValueFlags up_to_ahead(const std::vector<ValueId>& targets) const {
    ValueFlags in(graph_.values().size(), false);
    const auto want = [&](ValueId id) { in[id] = in[id] || graph_[id].domain == Domain::kElement; };
    for (const ValueId id : targets) want(id);
    for (std::size_t id = in.size(); id-- > 0;) {
      const Value& value = graph_[static_cast<ValueId>(id)];
      if (!in[id] || is_ahead(static_cast<ValueId>(id))) continue;
      for (const ValueId argument : value.arguments) want(argument);
    }
    return in;
  }

  /// Writes the objects that transform blocks, one for each size.
  void write_hadamards() {
    std::set<std::string> known;
    for (const Value& value : graph_.values()) {
      if (value.kind != Value::Kind::kTransform || !known.insert(hadamard(value)).second) continue;
      const Constant& size = value.turned;
      const auto sizes = [&](double least, double most) {
        return "<" + integer_literal(kIntType, least) + ", " + integer_literal(kIntType, most) + "> ";
      };
      if (size.parameter) {
        const ProgramParameter& parameter = program_.parameters[*size.parameter];
        out_.line("[[maybe_unused]] const Hadamard" + sizes(parameter.least, parameter.most) + hadamard(value) +
                  "(static_cast<uint32_t>(settings.parameters[" + std::to_string(*size.parameter) + "]));");
      } else {
        out_.line("[[maybe_unused]] const Hadamard" + sizes(size.value, size.value) + hadamard(value) + "(" +
                  std::to_string(size.value) + ");");
      }
    }
  }

  /// Writes the operands of these that are written ahead and not in `there`, each by a loop. For a transform the loop
  /// computes its operand; the transform with numbers of this kind follows. `element` writes a loop's value.
  void write_ahead(const std::vector<ValueId>& targets, const std::string& numbers, Turned& there,
                   const std::function<void(ValueId)>& element) {
    for (const ValueId id : ahead_of(targets)) {
      if (!there.insert(id).second) continue;
      out_.line(quad_type(id) + turned(id) + ";");
      write_one_ahead(id, numbers, element);
    }
  }
  void write_one_ahead(ValueId id, const std::string& numbers, const std::function<void(ValueId)>& element) {
    const std::vector<ValueId>& arguments = graph_[id].arguments;
    const bool turns = graph_[id].kind == Value::Kind::kTransform;
    const ValueFlags here = up_to_ahead(arguments);
    out_.line("#pragma unroll");
    out_.open("for (uint32_t k = 0; k < 4; ++k)");
    for (ValueId each = 0; each < here.size(); ++each) {
      if (here[each]) element(each);
    }
    out_.line(turned(id) + "[k] = " + (turns ? text_.bare(arguments.front()) : text_.definition(id)) + ";");
    out_.close();
    out_.forget_line();
    if (!turns) return;
    out_.line(turned(id) + " = " + hadamard(graph_[id]) + ".turned<" + all_there_ + ">(" + numbers + ", " + turned(id) +
              ", i, n);");
  }
  std::vector<ValueId> ahead_of(const std::vector<ValueId>& targets) const {
    const ValueFlags all = below(targets, Domain::kElement);
    std::vector<ValueId> ahead;
    for (ValueId id = 0; id < all.size(); ++id) {
      if (all[id] && is_ahead(id)) ahead.push_back(id);
    }
    return ahead;
  }
  std::string quad_type(ValueId id) const { return "Quad<" + type_text(graph_[id].type) + "> "; }
  /// A thread's four neighbours of a state, and their new values.
  static std::string state(std::uint32_t index) { return "state" + std::to_string(index); }
  static std::string state_then(std::uint32_t index) { return state(index) + "_then"; }
  /// No name of a program's value ends like this.
  static std::string turned(ValueId id) { return "turned" + std::to_string(id); }
  static std::string turned_element(ValueId id) { return turned(id) + "[k]"; }

  std::string parameter(const Value& value) const {
    return "static_cast<" + type_text(value.type) + ">(settings.parameters[" + std::to_string(value.parameter) + "])";
  }
  std::string count(const Value& value) const {
    return value.over == Domain::kElement ? "static_cast<uint32_t>(n)"
                                          : "static_cast<uint32_t>(entries_of_blocks(n, settings.log2_block))";
  }
  /// The pointer to a section, `scale_0_at`.
  std::string section(std::uint32_t index) const { return section_word(program_, index) + "_at"; }

 public:
  /// The section's name and its number: neither a keyword nor one of the text's own names, in any program.
  static std::string section_word(const Program& program, std::uint32_t index) {
    return program.sections[index].name + "_" + std::to_string(index);
  }

 protected:
  static std::string hadamard(const Value& transform) {
    const Constant& size = transform.turned;
    return size.parameter ? "turn_of_p" + std::to_string(*size.parameter) : "turn" + std::to_string(size.value);
  }
  std::string load_one(const Value& value, const std::string& entry) const {
    const std::string bits = std::to_string(value.type.bits);
    const std::string at = "(" + section(value.section) + ", " + entry + ")";
    if (value.type == kDoubleType) return "load_double" + at;
    return from_code(value.type, "load_one<" + bits + ">" + at);
  }
  /// An element, from the bits that store it.
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
  std::set<ValueId> of_places_;                  ///< values written ahead: made of the element's place alone
  std::string all_there_ = "Work::kIsAllThere";  ///< true if all of a row exists
};

}  // namespace casync::compll
