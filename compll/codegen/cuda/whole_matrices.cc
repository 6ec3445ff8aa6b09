// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cuda/whole_matrices.h"

#include <algorithm>

#include "compll/codegen/cuda/terms.h"
#include "compll/codegen/cuda/whole_routine.h"
#include "compll/codegen/text/operation_text.h"
#include "compll/lang/terms.h"

namespace casync::compll {
namespace {

constexpr std::size_t kOuterCost = 20;  // operations for an element of a product of a few vectors

}  // namespace

void CudaMatrices::plan_matmul(const Term& term, CudaPlanned& planned, const std::string& name,
                               std::optional<VariableId> id) {
  const Term &matrix = *term.arguments[0], &vectors = *term.arguments[1];
  text_.arrays.keep_computed(vectors);
  const std::uint32_t stage = std::max(text_.plan.ready(matrix).all, text_.plan.ready(vectors).all);
  const std::string address = text_.places.address_for(id, name, term.type());
  const std::string given = CudaNames::size(vectors.type()), wanted = CudaNames::size(term.type());
  const CudaPlanned of_matrix = text_.plan.planned_of(matrix);
  const bool fills = !of_matrix.fills.empty(), of_rows = term.form == MatmulForm::kOfRows;
  const std::string filled = of_matrix.name + "_filled";
  text_.stages.add(stage, [=, this, &vectors, &term] {
    text_.plan.define(of_matrix);
    const std::string by = text_.plan.array(vectors);
    std::string from = of_matrix.name;
    text_.out.source_line(term.at);
    if (fills) {
      text_.out.line("float* const " + filled + " = " + of_matrix.fills + ";");
      from = "Filling{" + from + ", " + filled + "}";
    }
    text_.out.line(std::string(of_rows ? "products_of_rows" : "products_of_columns") + "(part, n, " + from + ", " +
                   given + ", " + by + ", " + wanted + ", " + address + ");");
  });
  planned = {{stage + 1, stage + 1}, [=, this] { text_.plan.define_memory(name, "float", address); }, name};
  if (!fills) return;
  text_.plan.planned_of(matrix) = {
      {stage + 1, stage + 1}, [=, this] { text_.plan.define_memory(filled, "float", of_matrix.fills); }, filled};
}

void CudaMatrices::plan_outer_product(const Term& term, CudaPlanned& planned, const std::string& name,
                                      std::optional<VariableId> id) {
  const Term &left = *term.arguments[0], &right = *term.arguments[1];
  text_.arrays.keep_computed(left);
  text_.arrays.keep_computed(right);
  const std::uint32_t stage = std::max(text_.plan.ready(left).all, text_.plan.ready(right).all);
  planned = {{stage, stage},
             [=, this, &left, &right, &term] {
               const std::string of_rows = text_.plan.array(left), of_columns = text_.plan.array(right);
               text_.out.source_line(term.at);
               text_.out.line("const auto " + name + " = outer_product(n, " + CudaNames::size(left.type()) + ", " +
                              of_rows + ", " + CudaNames::size(right.type()) + ", " + of_columns + ");");
             },
             name,
             kOuterCost,
             true};
  if (id && text_.names.uses(*id) > 1) text_.arrays.keep(term.type(), planned, id);
}

/// Plans `orthonormalize`: the last tile to have copied its elements does all of it, as each vector needs earlier ones.
void CudaMatrices::plan_orthonormalize(const Term& term, CudaPlanned& planned, const std::string& name,
                                       std::optional<VariableId> id) {
  const Term& of = *term.arguments[0];
  const std::uint32_t stage = text_.plan.ready_to_share(of);
  const std::string count = CudaNames::size(term.type()), length = CudaNames::block_size(term.block);
  const std::string address = text_.places.address_for(id, name, term.type());
  const std::string rest = text_.stages.memory("double", name + "_rest", "8 * " + length);
  text_.stages.add(
      stage,
      [=, this, &of] {
        const std::string from = text_.plan.array(of);
        text_.out.line("fill(part, " + count + ", " + from + ", " + address + ");");
      },
      [=, this, &term] {
        text_.out.source_line(term.at);
        text_.out.line("orthonormalize(part, " + count + ", " + length + ", " + address + ", " + rest + ");");
      });
  planned = {{stage + 1, stage + 1}, [=, this] { text_.plan.define_memory(name, "float", address); }, name};
}

void CudaMatrices::plan_vector_reduction(const Term& term, CudaPlanned& planned, const std::string& name) {
  const Term& of = *term.arguments[0];
  bool ordered = false;
  const std::string by = text_.reductions.reducer(term, ordered);
  const ScalarType element = term.type().element;
  const std::string type = type_text(element), vectors = CudaNames::size(term.type()),
                    length = CudaNames::block_size(term.block);
  const std::string address = text_.stages.memory(type, name, cuda_bytes(vectors, element));
  const Term* initial = term.arguments.size() > 1 ? term.arguments[1].get() : nullptr;
  const std::uint32_t stage =
      std::max(text_.plan.ready(of).all, initial != nullptr ? text_.plan.ready_of_scalar(*initial) : 0);
  // For an empty vector converts the end of 32 bits' range to that of the element's type.
  const std::string narrow =
      !text_.reductions.is_narrowed(term)
          ? ""
          : ", [](" + type + " x) { return " + cuda_conversion({element.kind, 32}, element, "x") + "; }";
  text_.stages.add(stage, [=, this, &of, &term] {
    const std::string from = text_.plan.array(of),
                      begin = initial != nullptr ? ", " + text_.values.scalar(*initial) : "";
    text_.out.source_line(term.at);
    text_.out.line(std::string(ordered ? "reduce" : "join") + "_vectors<" + by + ">(part, " +
                   CudaNames::size(of.type()) + ", " + length + ", " + from + ", " + vectors + ", " + address + begin +
                   narrow + ");");
  });
  planned = {{stage + 1, stage + 1}, [=, this] { text_.plan.define_memory(name, type, address); }, name};
}

}  // namespace casync::compll
