// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "compll/lang/syntax/tree.h"
#include "compll/lang/terms.h"

namespace casync::compll {

struct CodeChecker;

/// Checks the numbers of elements of arrays. They are formulas of n and parameters, and do not depend on the gradient's
/// values. A program with `shape` has arrays of vectors, too, each as long as a row or a column.
class SizeChecker {
 public:
  explicit SizeChecker(CodeChecker& code) : code_(code) {}

  /// `shape rows columns;`
  void declare_shape(const Word& rows, const Word& columns);
  void need_shape(Span at, const std::string& of) const;

  /// The extent of an array of so many elements.
  Extent size_of(const Expression& expression, const std::string& of);
  /// The size of blocks: a parameter, a number, `rows` or `columns`.
  Constant block_size(const Expression& expression) const;

  /// The extent of an array whose size is this term; `text` is how the program has it.
  Extent extent_of(TermPtr value, const std::string& text);
  /// The number of vectors of rows or columns that an array consists of. Null: it consists of none.
  TermPtr vectors_of(const Extent& extent, Dimension dimension) const;
  /// The number of elements, if it is a size of its own. Else null.
  TermPtr count_of(const Extent& extent) const;
  /// The extent of so many vectors of rows or columns.
  Extent extent_of_vectors(TermPtr count, Dimension dimension);
  /// Returns true if both extents have equally many vectors, `a` of dimension `of_a` and `b` of dimension `of_b`.
  bool has_as_many(const Extent& a, Dimension of_a, const Extent& b, Dimension of_b) const;

  std::string text_of_size(const Term& size) const;
  std::string text_of(const Extent& extent) const;

 private:
  bool is_size_without_padding(const Term& size) const;
  const Term& source_of(const Term& term) const;

  CodeChecker& code_;
  bool has_shape_ = false;
};

}  // namespace casync::compll
