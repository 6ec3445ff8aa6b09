// SPDX-License-Identifier: Apache-2.0
//
// The checks of operators on the gradient as a matrix, and of exchanges between ranks. An array is so many vectors
// where its size is a product with `rows` or `columns`: that says which of them fit together.
#include <utility>

#include "compll/lang/check/operator_checks.h"

namespace casync::compll {

/// matmul(matrix, vectors) and matmul(left, right), vectors of rows and as many of columns.
TermPtr check_matmul(const OperatorUse& use) {
  SizeChecker& sizes = use.code.sizes;
  sizes.need_shape(use.at.at, "`matmul`");
  TermPtr left = use.floats(0), right = use.floats(1);
  const Extent of_left = *left->type().extent, of_right = *right->type().extent;
  TermPtr term = use.term(Op::kMatmul, {kFloatType, Extent{}});
  term->arguments = terms(std::move(left), std::move(right));
  if (of_left.kind == Extent::Kind::kElements) {
    for (const Dimension summed : {Dimension::kColumns, Dimension::kRows}) {
      TermPtr count = sizes.vectors_of(of_right, summed);
      if (count == nullptr) continue;
      const bool of_rows = summed == Dimension::kColumns;
      term->form = of_rows ? MatmulForm::kOfRows : MatmulForm::kOfColumns;
      term->types.front().extent =
          sizes.extent_of_vectors(std::move(count), of_rows ? Dimension::kRows : Dimension::kColumns);
      return term;
    }
  } else if (sizes.has_as_many(of_left, Dimension::kRows, of_right, Dimension::kColumns)) {
    term->form = MatmulForm::kOuter;
    return term;
  }
  use.refuse(
      use.at.at, "`matmul` of " + sizes.text_of(of_left) + " and " + sizes.text_of(of_right) + " elements",
      "it takes a matrix of n and vectors of `rows` or of `columns`, or vectors of `rows` and as many of `columns`: "
      "their sizes are written as products, `rank * rows`");
}

/// orthonormalize(vectors), of rows or of columns.
TermPtr check_orthonormalize(const OperatorUse& use) {
  const SizeChecker& sizes = use.code.sizes;
  sizes.need_shape(use.at.at, "`orthonormalize`");
  TermPtr vectors = use.floats(0);
  const Type type = vectors->type();
  for (const Dimension length : {Dimension::kRows, Dimension::kColumns}) {
    if (type.is_over(Extent::Kind::kElements) || sizes.vectors_of(*type.extent, length) == nullptr) continue;
    TermPtr term = use.term(Op::kOrthonormalize, type, terms(std::move(vectors)));
    term->block.dimension = length;
    return term;
  }
  use.refuse(use.argument(0).at, "`orthonormalize` of " + sizes.text_of(*type.extent) + " elements",
             "it takes vectors of `rows` or of `columns`: their size is written as a product, `rank * rows`");
}

namespace {

ExchangeKind kind_of(const OperatorUse& use) {
  if (use.count() == 1) return ExchangeKind::kSum;
  const auto* const name = std::get_if<Name>(&use.last().node);
  for (const ExchangeKind kind : {ExchangeKind::kMax, ExchangeKind::kElias}) {
    if (name != nullptr && name->text == word_of(kind)) return kind;
  }
  use.refuse(use.last().at, "an exchange of this kind is not there",
             "leave it out for the sum over the ranks; `max` is the greatest of each element, and `elias` the sum of "
             "whole numbers, in few bits");
}

}  // namespace

/// exchange(x): the same array of all ranks, added up or the greatest of each. It has a step of its own: there the
/// routine is taken apart.
TermPtr check_exchange(const OperatorUse& use) {
  const Span at = use.at.at;
  if (use.code.place.kind != RoutineKind::kSynchronize) {
    use.refuse(
        at, "`exchange` belongs into `synchronize`",
        "a codec with `encode` sends once in a step; `void synchronize(float* gradient, float* result)` may exchange");
  }
  if (use.code.place.branches != 0) {
    use.refuse(at, "`exchange` in a branch", "all ranks take part in each exchange: do it outside of the branches");
  }
  const ExchangeKind kind = kind_of(use);
  TermPtr array = use.floats(0);
  use.code.selections.need_none(*array, use.argument(0).at, "`exchange`",
                                "each rank selects other elements: exchange what `scatter` makes of them");
  if (++use.code.program.rounds > kMostExchanges) {
    use.refuse(at, "more than " + std::to_string(kMostExchanges) + " exchanges", "each is a round trip of all ranks");
  }
  Variables& variables = use.code.variables;
  const Type type = array->type();
  const VariableId given = variables.keep(terms(std::move(array)), "addends", at).front();
  TermPtr sum = use.term(Op::kExchange, type, terms(make_variable(at, given, type)));
  sum->exchange = kind;
  return make_variable(at, variables.keep(terms(std::move(sum)), "exchanged", at).front(), type);
}

}  // namespace casync::compll
