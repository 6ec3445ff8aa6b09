// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "compll/lang/check/names.h"
#include "compll/lang/program.h"
#include "compll/lang/syntax/tree.h"

namespace casync::compll {

struct CodeChecker;

/// Checks the states that a codec keeps from step to step.
class StateChecker {
 public:
  explicit StateChecker(CodeChecker& code) : code_(code) {}

  /// Declares a state, whose name is a variable of every routine but decode.
  void declare_state(const State& state);
  bool is_state(const Declared::Variable& variable) const;

  /// Gives each state its value from the previous step, as a routine begins.
  void begin_states();
  /// Takes the values that the states have at a routine's end.
  void end_states(const Function& function);

 private:
  void need_unread(const Function& function, std::size_t state);

  CodeChecker& code_;
  std::vector<std::size_t> slots_;  ///< of each state's variable
  std::vector<Step> of_file_;       ///< steps to a size outside of functions, which is known without them
};

}  // namespace casync::compll
