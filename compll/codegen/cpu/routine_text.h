// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "compll/codegen/cpu/expression_text.h"
#include "compll/codegen/cpu/section_text.h"
#include "compll/codegen/text/writer.h"
#include "compll/ir/tiles/cpu/plan.h"

namespace casync::compll {

/// The part that the texts of encode, decode and result share.
class RoutineText {
 protected:
  RoutineText(const Program& program, const RoutineValues& values, const std::optional<Constant>& block, Writer& out)
      : program_(program), graph_(*values.graph), block_(block), out_(out), text_(values), sections_(program) {}

  std::string block_size() const;
  /// The number of elements that a transform takes together.
  std::string rotated_size(const Value& transform) const;
  /// The name of an array for transforms, which no program's value has.
  static std::string rotated(std::size_t array) { return "rotated" + std::to_string(array); }

  /// A value's line: `const float scale_27 = ...;`.
  void define(ValueId id, const std::string& right);

  std::string parameter(const Value& value) const;
  std::string count(const Value& value) const;
  /// The random numbers of one place in the program.
  std::string random_stream(const Value& value) const;
  std::string random(const Value& value, const std::string& stream) const;
  /// Writes the streams of these random numbers.
  void define_random(const std::vector<ValueId>& ids);

  /// A state's name is state0, and that of its new elements state0_then: no value has such a name.
  static std::string state(std::uint32_t index) { return "state" + std::to_string(index); }
  void define_states(std::size_t count);
  std::string load_state(const Value& value) const;
  std::string store_state(const Output& output) const;
  std::string index(const Value& value) const;

  const Program& program_;
  const Graph& graph_;
  const std::optional<Constant> block_;
  Writer& out_;
  ExpressionText text_;
  const SectionText sections_;
};

}  // namespace casync::compll
