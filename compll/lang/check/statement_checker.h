// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "compll/lang/check/names.h"
#include "compll/lang/check/variables.h"
#include "compll/lang/syntax/tree.h"
#include "compll/lang/terms.h"

namespace casync::compll {

struct CodeChecker;
struct Control;

/// Runs statements in order. A branch is a choice between the values that its two ways have assigned.
class StatementChecker {
 public:
  explicit StatementChecker(CodeChecker& code) : code_(code) {}

  void check_block(const Block& block);
  /// The value in its declared type, with the conversions of C: elements to elements, arrays to arrays whose elements
  /// have the same type. `name` names the variable in messages.
  TermPtr fit(TermPtr value, DeclaredType type, const std::string& name, Span at);
  /// condition ? yes : no, slot by slot. A value that only one of them has is unknown then. Refuses another array in
  /// each; `where` says in which places of the program the two are.
  Variables::Values chosen(VariableId condition, const Variables::Values& yes, const Variables::Values& no, Span at,
                           const std::string& where);

 private:
  void check_statement(const Statement& statement);
  void forgive(const Statement& statement);
  void check_node(const Statement& at, const Declare& node);
  void check_node(const Statement& at, const Assign& node);
  void check_node(const Statement& at, const If& node);
  void check_node(const Statement& at, const Repeat& node);
  void check_node(const Statement& at, const Return& node);
  void check_node(const Statement& at, const Evaluate& node);
  void declare_several(const Declare& node, Terms values, const std::vector<Type>& given);
  void store(const Declared& declared, TermPtr value, Span at);
  Variables::Values run_branch(const Block& block, Control& control);

  CodeChecker& code_;
  std::size_t repeats_ = 0;  ///< bodies of `repeat` that were written out
};

}  // namespace casync::compll
