// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cpu/rounds_matrices.h"

#include <algorithm>

#include "compll/codegen/cpu/rounds_names.h"

namespace casync::compll {

void RoundsMatrices::write(const cpu_turns::Outer& outer) {
  const Term& term = *outer.term;
  out_.line("Outer " + name(outer.array) + " = outer_product(v.rows, v.columns, " + memory_.pointer(outer.left) + ", " +
            RoundsNames::size(term.arguments[0]->type()) + ", " + memory_.pointer(outer.right) + ", " +
            RoundsNames::size(term.arguments[1]->type()) + ", memory);");
}

void RoundsMatrices::write(const cpu_turns::Fill& fill) {
  const std::string from = name(fill.from), to = memory_.address(fill.to);
  if (fill.outers.empty()) {
    return out_.line("store(0, " + RoundsNames::size(fill.type) + ", " + from + ", " + to + ");");
  }
  out_.open("for_pieces(v.rows, v.columns, [&](size_t first, size_t count) HWY_ATTR");
  if (std::find(fill.outers.begin(), fill.outers.end(), fill.from) != fill.outers.end()) {
    out_.line(from + ".write(first, count, " + to + " + first);");
  } else {
    prepare(fill.outers);
    out_.line("store(first, count, " + from + ", " + to + " + first);");
  }
  out_.close(");");
}

void RoundsMatrices::write(const cpu_turns::Piece& piece) {
  const std::string place = name(piece.to) + (piece.is_buffer ? " + first" : " + slot * kPiece");
  out_.open("[[maybe_unused]] const auto " + name(piece.value) +
            " = [&]([[maybe_unused]] size_t slot, size_t first, size_t count) HWY_ATTR");
  prepare(piece.outers);
  out_.line("store(first, count, " + name(piece.from) + ", " + place + ");");
  out_.line("return " + place + ";");
  out_.close(";");
}

void RoundsMatrices::write(const cpu_turns::Product& product) {
  const Term& term = *product.term;
  const bool of_rows = term.form == MatmulForm::kOfRows;
  const std::string left = product.by_pieces ? name(product.left)
                                             : "[&](size_t, size_t first, size_t) HWY_ATTR { return " +
                                                   memory_.pointer(product.left) + " + first; }";
  out_.line(std::string(of_rows ? "products_of_rows" : "products_of_columns") + "(v.rows, v.columns, " + left + ", " +
            memory_.pointer(product.right) + ", " + RoundsNames::size(term.arguments[1]->type()) + ", " +
            memory_.pointer(product.array) + ", " + RoundsNames::size(term.type()) + (of_rows ? ", memory);" : ");"));
}

/// Prepares products for a piece, ahead of its elements.
void RoundsMatrices::prepare(const std::vector<cpu_turns::Id>& outers) {
  for (const cpu_turns::Id outer : outers) out_.line(name(outer) + ".prepare(first, count);");
}

}  // namespace casync::compll
