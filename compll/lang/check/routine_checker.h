// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "compll/lang/check/place.h"
#include "compll/lang/syntax/tree.h"

namespace casync::compll {

struct CodeChecker;

/// Checks the functions that the library calls: each assigns its output once.
class RoutineChecker {
 public:
  explicit RoutineChecker(CodeChecker& code) : code_(code) {}

  /// Checks the body. Its value for `output` arrives in `routine`.
  void check_routine(const Function& function, std::string_view output, RoutineKind kind, Routine& routine);
  /// `output = value;`
  void assign_output(const Statement& at, const Word& name, const Expression& value);

 private:
  bool is_assigned() const;
  void assign_gradient(const Word& name, const Expression& value);
  void need_output(const Function& function) const;

  CodeChecker& code_;
};

}  // namespace casync::compll
