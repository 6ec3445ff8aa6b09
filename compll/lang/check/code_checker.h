// SPDX-License-Identifier: Apache-2.0
#pragma once

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
};

}  // namespace casync::compll
