// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compll/ir/tiles/needs.h"
#include "compll/ir/tiles/routine_values.h"
#include "compll/ir/tiles/schedule.h"

namespace casync::compll {

/// Writes a plan as text: a line for each thing that has to be done, indented below the loop that does it.
class PlanWriter {
 public:
  PlanWriter(const Program& program, const Graph& graph) : program_(program), graph_(graph) {}

  void line(const std::string& text) { text_.append(2 * depth_, ' ').append(text) += '\n'; }
  void open(const std::string& text) {
    line(text);
    ++depth_;
  }
  void close() { --depth_; }

  /// Writes `word: scale_27 v28`, unless there are none.
  void values(const std::string& word, const std::vector<ValueId>& ids);
  /// Writes `store codes = v28` for each.
  void stores(const std::vector<Output>& outputs);

  std::string name(ValueId id) const { return value_name(graph_, id); }
  std::string names(const std::vector<ValueId>& ids) const;
  /// ` if clip_3`, or ` unless clip_3`; "" if there is no condition.
  std::string condition(const std::optional<Condition>& condition) const;
  std::string section(std::uint32_t index) const { return program_.sections[index].name; }

  std::string take() { return std::move(text_); }

 private:
  std::string place(const Output& output) const;

  const Program& program_;
  const Graph& graph_;
  std::string text_;
  std::size_t depth_ = 0;
};

}  // namespace casync::compll
