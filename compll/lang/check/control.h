// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <vector>

#include "compll/lang/check/names.h"
#include "compll/lang/check/variables.h"
#include "compll/lang/syntax/tree.h"
#include "compll/lang/terms.h"

namespace casync::compll {

struct CodeChecker;

/// The state of a function's body at one place: the branches around it, and the values returned by now. Both branches
/// of an `if` are computed, so `return` is a value that later ones do not replace:
///
///   if (x > 3) return 1;    kSometimes, `when` is x > 3, `results` has 1
///   return x * 2;           kAlways, `results` has x > 3 ? 1 : x * 2
struct Control {
  enum class Returned { kNever, kSometimes, kAlways };

  std::vector<DeclaredType> types;  ///< of the results
  std::size_t outside = 0;          ///< slots of variables that are not the function's own
  int conditions = 0;               ///< branches around this place
  Returned returned = Returned::kNever;
  VariableId when = 0;  ///< of kSometimes: a bool
  std::vector<VariableId> results;
  Variables::Values left;  ///< the values of the variables outside at the `return`

  bool always_returned() const { return returned == Returned::kAlways; }

  /// `return values;`
  void give_back(CodeChecker& code, Terms values, const Expression& at);
  /// Joins the branches of `if (condition) {yes} else {no}`.
  void join(CodeChecker& code, VariableId condition, const Control& yes, const Control& no, Span at);

 private:
  /// Adds a later return; both, in this order, may have happened.
  void then(CodeChecker& code, const Control& later, Span at);
};

}  // namespace casync::compll
