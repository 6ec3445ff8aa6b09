// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/tiles/plan_writer.h"

namespace casync::compll {

void PlanWriter::values(const std::string& word, const std::vector<ValueId>& ids) {
  if (!ids.empty()) line(word + ": " + names(ids));
}

void PlanWriter::stores(const std::vector<Output>& outputs) {
  for (const Output& output : outputs) line("store " + place(output) + " = " + name(output.value));
}

std::string PlanWriter::names(const std::vector<ValueId>& ids) const {
  std::string text;
  for (const ValueId id : ids) text += (text.empty() ? "" : " ") + name(id);
  return text;
}

std::string PlanWriter::condition(const std::optional<Condition>& condition) const {
  return condition ? (condition->holds ? " if " : " unless ") + name(condition->value) : "";
}

std::string PlanWriter::place(const Output& output) const {
  switch (output.kind) {
    case Output::Kind::kSection: return section(output.index);
    case Output::Kind::kState: return program_.states[output.index].name;
    case Output::Kind::kResidual: return "residual";
    case Output::Kind::kResult: break;
  }
  return "result";
}

}  // namespace casync::compll
