// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compll/codegen/text/writer.h"
#include "compll/ir/rounds/cpu/plan.h"
#include "compll/lang/program.h"

namespace casync::compll {

/// Values of a turn as expressions, by the names of its plan, and functions of elements.
class RoundsValues {
 public:
  RoundsValues(const cpu_turns::Turn& plan, Writer& out) : plan_(plan), out_(out) {}

  std::string name(cpu_turns::Id id) const { return cpu_turns::name_of(plan_.values[id]); }
  std::string expression(const Term& term) const;
  /// Writes a function's lines and what it returns.
  void write_body(const Body& body, const std::vector<std::string>& arguments) const;
  /// The call that reduces so many elements of an array.
  std::string reduction(const Term& term, const std::string& count, const std::string& from,
                        const std::optional<cpu_turns::Id>& function) const;

 private:
  void define(VariableId id, const std::string& value) const;
  std::string name_of_variable(VariableId id) const;

  const cpu_turns::Turn& plan_;
  Writer& out_;
};

}  // namespace casync::compll
