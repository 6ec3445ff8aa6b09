// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "compll/codegen/cuda/expression.h"
#include "compll/codegen/text/writer.h"
#include "compll/ir/tiles/cuda/plan.h"

namespace casync::compll {

/// The part that the texts of encode, decode and result share.
class CudaRoutine {
 public:
  /// The section's name and its number: neither a keyword nor one of the text's own names, in any program.
  static std::string section_word(const Program& program, std::uint32_t index);

 protected:
  CudaRoutine(const Program& program, const CudaTileValues& values, Writer& out)
      : program_(program), graph_(*values.of.graph), out_(out), text_(values) {}

  /// A value's line: `const float scale_27 = ...;`.
  void define(ValueId id, const std::string& right);

  /// Writes the objects that transform blocks, one for each size.
  void write_hadamards();

  /// Writes a value ahead, by a loop. For a transform the loop computes its operand; the transform with numbers of this
  /// kind follows. `element` writes a loop's value.
  void write_ahead(const CudaAhead& ahead, const std::string& numbers, const std::function<void(ValueId)>& element);

  std::string quad_type(ValueId id) const;
  /// A thread's four neighbours of a state, and their new values.
  static std::string state(std::uint32_t index) { return "state" + std::to_string(index); }
  static std::string state_then(std::uint32_t index) { return state(index) + "_then"; }
  /// No name of a program's value ends like this.
  static std::string rotated(ValueId id) { return "rotated" + std::to_string(id); }
  static std::string rotated_element(ValueId id) { return rotated(id) + "[k]"; }
  /// A random number, of bits that were drawn.
  static std::string random(const Value& value, const std::string& drawn) {
    return value.op == Op::kRandomUniform ? "uniform(" + drawn + ")" : drawn;
  }

  std::string parameter(const Value& value) const;
  std::string count(const Value& value) const;
  /// The pointer to a section, `scale_0_at`.
  std::string section(std::uint32_t index) const { return section_word(program_, index) + "_at"; }
  std::string load_one(const Value& value, const std::string& entry) const;
  /// An element, from the bits that store it.
  static std::string from_code(ScalarType type, const std::string& code);
  std::string entry_bits(std::uint32_t index) const;

  const Program& program_;
  const Graph& graph_;
  Writer& out_;
  CudaExpression text_;
  std::string all_there_ = "Work::kIsAllThere";  ///< true if all of a row exists

 private:
  static std::string hadamard(const Value& transform);
};

}  // namespace casync::compll
