// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tests/compll/random_programs/operators.h"

namespace casync::compll::test {

/// Writes statements of a routine, one at a time.
class Statements {
 public:
  Statements(Choices& choices, Expressions& expressions, const Declarations& declared, RoutineText& text,
             Operators& operators)
      : choices_(choices), expressions_(expressions), declared_(declared), text_(text), operators_(operators) {}

  /// Writes any statement but a selection without a count.
  void write_any();

 private:
  void write_scalar();
  /// Writes a variable that a branch or a loop changes.
  void write_choice();

  Choices& choices_;
  Expressions& expressions_;
  const Declarations& declared_;
  RoutineText& text_;
  Operators& operators_;
};

}  // namespace casync::compll::test
