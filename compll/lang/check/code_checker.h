// SPDX-License-Identifier: Apache-2.0
//
// The checker runs a program with terms in place of numbers. Each assignment makes a variable of the program, which has
// its value once and for all; a variable of the file has a slot with the one that was assigned last (variables.h):
//
//   float y = 0;         y.2 = 0
//   if (x > 0) y = 2;    if.3 = x.1 > 0; y.4 = 2; y.5 = if.3 ? y.4 : y.2
//   y = f(y);            the body of f, whose parameter is y.5; y.12 = its result
//
// - Both branches of an `if` are run from the same slots. A slot that differs after them gets a choice
//   (statement_checker.h). A `return` in a branch becomes a value that later ones do not replace (control.h).
// - A function is run where it is called (function_checker.h), and the block of a `repeat` as often as it says. So a
//   program has no calls and no loops but those of its operators, and everything that it writes out is counted.
// - The number of elements of an array is a formula (size_checker.h), or that of a selection (selection_checker.h).
// - A mistake leaves its statement. The variables that the statement would have assigned are spoilt: mistakes that
//   follow from theirs are not reported.
//
// `compllc FILE --emit=typed` prints the variables and their terms.
#pragma once

#include <cstddef>
#include <string>

#include "compll/lang/check/call_checker.h"
#include "compll/lang/check/expression_checker.h"
#include "compll/lang/check/function_checker.h"
#include "compll/lang/check/place.h"
#include "compll/lang/check/routine_checker.h"
#include "compll/lang/check/section_checker.h"
#include "compll/lang/check/selection_checker.h"
#include "compll/lang/check/size_checker.h"
#include "compll/lang/check/state_checker.h"
#include "compll/lang/check/statement_checker.h"
#include "compll/lang/check/type_checker.h"
#include "compll/lang/check/variables.h"
#include "compll/lang/program.h"
#include "compll/lang/syntax/diagnostic.h"

namespace casync::compll {

/// The checkers of what functions do, each of one subject, and all that they share. Statements lead to expressions,
/// these to calls, and calls to the statements of functions, so each of them knows all others.
struct CodeChecker {
  CodeChecker(Program& made, Diagnostics& found) : program(made), diagnostics(found) {}
  CodeChecker(const CodeChecker&) = delete;
  CodeChecker& operator=(const CodeChecker&) = delete;

  /// Reports a mistake and leaves the statement that has it.
  [[noreturn]] void refuse(Span at, std::string message, std::string hint = "");
  /// Counts a statement, an expression or a declared name that is checked; refuses those beyond kMostChecked.
  void count(Span at);

  Program& program;
  Diagnostics& diagnostics;
  Place place;
  Variables variables{*this};
  TypeChecker types{*this};
  SizeChecker sizes{*this};
  ExpressionChecker expressions{*this};
  CallChecker calls{*this};
  FunctionChecker functions{*this};
  StatementChecker statements{*this};
  SectionChecker sections{*this};
  SelectionChecker selections{*this};
  StateChecker states{*this};
  RoutineChecker routines{*this};

 private:
  std::size_t checked_ = 0;
};

}  // namespace casync::compll
