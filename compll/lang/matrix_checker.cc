// SPDX-License-Identifier: Apache-2.0
//
// The gradient as a matrix, and what ranks add up. An array is so many vectors where its size is a product with `rows`
// or `columns`: that says which of them fit together.
#include "compll/lang/code_checker.h"
#include "compll/lang/terms.h"

namespace casync::compll {

void CodeChecker::declare_shape(const Word& rows, const Word& columns) {
  declare(rows, Declared::DimensionName{Dimension::kRows});
  declare(columns, Declared::DimensionName{Dimension::kColumns});
  has_shape_ = true;
}

void CodeChecker::need_shape(Span at, const std::string& of) {
  if (has_shape_) return;
  refuse(at, of + " needs to know how many rows and columns the gradient has",
         "declare them in the codec block: `shape rows columns;`");
}

TermPtr CodeChecker::check_floats(const Expression& expression, const std::string& of) {
  TermPtr array = check_array(expression, of);
  if (array->type().element != kFloatType) {
    refuse(expression.at, of + " of " + text_of(array->type().element) + "s", "it is for floats");
  }
  return array;
}

/// matmul(matrix, vectors) and matmul(left, right), vectors of rows and as many of columns.
TermPtr CodeChecker::check_matmul(const Expression& at, const Call& node) {
  need_arguments(at, node, 2, 2, "matmul(gradient, vectors)");
  need_shape(at.at, "`matmul`");
  TermPtr left = check_floats(*node.arguments[0], "`matmul`"), right = check_floats(*node.arguments[1], "`matmul`");
  const Extent of_left = *left->type().extent, of_right = *right->type().extent;
  TermPtr term = make_term(Op::kMatmul, at.at, {kFloatType, Extent{}});
  term->arguments = terms(std::move(left), std::move(right));
  if (of_left.kind == Extent::Kind::kElements) {
    for (const Dimension summed : {Dimension::kColumns, Dimension::kRows}) {
      TermPtr count = vectors_of(of_right, summed);
      if (count == nullptr) continue;
      const bool of_rows = summed == Dimension::kColumns;
      term->form = of_rows ? MatmulForm::kOfRows : MatmulForm::kOfColumns;
      term->types.front().extent =
          extent_of_vectors(std::move(count), of_rows ? Dimension::kRows : Dimension::kColumns);
      return term;
    }
  } else if (has_as_many(of_left, Dimension::kRows, of_right, Dimension::kColumns)) {
    term->form = MatmulForm::kOuter;
    return term;
  }
  refuse(at.at, "`matmul` of " + text_of(of_left) + " and " + text_of(of_right) + " elements",
         "it takes a matrix of n and vectors of `rows` or of `columns`, or vectors of `rows` and as many of `columns`: "
         "their sizes are written as products, `rank * rows`");
}

/// orthonormalize(vectors), of rows or of columns.
TermPtr CodeChecker::check_orthonormalize(const Expression& at, const Call& node) {
  need_arguments(at, node, 1, 1, "orthonormalize(vectors)");
  need_shape(at.at, "`orthonormalize`");
  TermPtr vectors = check_floats(*node.arguments[0], "`orthonormalize`");
  const Type type = vectors->type();
  for (const Dimension length : {Dimension::kRows, Dimension::kColumns}) {
    if (type.extent->kind == Extent::Kind::kElements || vectors_of(*type.extent, length) == nullptr) continue;
    TermPtr term = make_term(Op::kOrthonormalize, at.at, type, terms(std::move(vectors)));
    term->block.dimension = length;
    return term;
  }
  refuse(node.arguments[0]->at, "`orthonormalize` of " + text_of(*type.extent) + " elements",
         "it takes vectors of `rows` or of `columns`: their size is written as a product, `rank * rows`");
}

/// exchange(x): the same array of all ranks, added up. It has a step of its own: there the routine is taken apart.
TermPtr CodeChecker::check_exchange(const Expression& at, const Call& node) {
  need_arguments(at, node, 1, 1, "exchange(x)");
  if (kind_ != RoutineKind::kSynchronize) {
    refuse(
        at.at, "`exchange` belongs into `synchronize`",
        "a codec with `encode` sends once in a step; `void synchronize(float* gradient, float* result)` may exchange");
  }
  if (branches_ != 0) {
    refuse(at.at, "`exchange` in a branch", "all ranks take part in each exchange: do it outside of the branches");
  }
  TermPtr array = check_floats(*node.arguments[0], "`exchange`");
  if (++program_.rounds > kMostExchanges) {
    refuse(at.at, "more than " + std::to_string(kMostExchanges) + " exchanges", "each is a round trip of all ranks");
  }
  const Type type = array->type();
  const VariableId given = keep(terms(std::move(array)), "addends", at.at).front();
  TermPtr sum = make_term(Op::kExchange, at.at, type, terms(make_variable(at.at, given, type)));
  return make_variable(at.at, keep(terms(std::move(sum)), "exchanged", at.at).front(), type);
}

}  // namespace casync::compll
