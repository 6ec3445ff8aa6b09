// SPDX-License-Identifier: Apache-2.0
//
// The plan of steps that use the gradient as a matrix, in programs that exchange. A product reads rows and columns that
// other tiles have made, and so do steps that read the product.
#include <algorithm>

#include "compll/codegen/cuda_terms.h"
#include "compll/codegen/cuda_whole_routine.h"
#include "compll/codegen/operation_text.h"
#include "compll/lang/terms.h"

namespace casync::compll {
namespace {

constexpr std::size_t kOuterCost = 20;  // operations for an element of a product of a few vectors

bool is_n_floats(const Type& type) {
  return type.extent && type.extent->kind == Extent::Kind::kElements && type.element == kFloatType;
}

}  // namespace

CudaWholeRoutine::Planned& CudaWholeRoutine::planned_of(const Term& term) {
  return term.op == Op::kVariable ? values_.at(term.variable) : terms_.at(&term);
}

void CudaWholeRoutine::define(const Planned& planned) {
  if (defined_.insert(planned.name).second) planned.define();
}

/// Computes an array once, into memory, instead of where it is used.
void CudaWholeRoutine::keep(const Type& type, Planned& planned, std::optional<VariableId> id) {
  const Planned each = planned;
  const std::string name = each.name + "_kept", element = type_text(type.element);
  const std::string address = address_for(id, name, type), count = size(type);
  const std::uint32_t stage = is_of_blocks(type) ? each.ready.all : each.ready.own;
  add(stage, [=, this] {
    define(each);
    out_.line("fill(part, " + count + ", " + each.name + ", " + address + ");");
    out_.line("__syncthreads();");
  });
  planned = {{stage, stage + 1}, [=, this] { define_memory(name, element, address); }, name};
  if (is_of_blocks(type)) planned.ready.own = stage + 1;
}

/// Stores an array that is read many times.
void CudaWholeRoutine::keep_computed(const Term& term) {
  Planned& planned = planned_of(term);
  if (planned.computed) keep(term.type(), planned, {});
}

/// Returns true if the first use of a matrix is a product with it, which stores its elements as it computes them.
bool CudaWholeRoutine::is_filled_by_product(VariableId id) const {
  if (!is_n_floats(program_.variables[id].type)) return false;
  bool is_made = false;
  for (const Step* step : steps_of_program_) {
    std::size_t uses = 0;
    for_each_term(*step->value, [&](const Term& each) { uses += each.op == Op::kVariable && each.variable == id; });
    if (is_made && uses != 0) {
      const Term& first = *step->value;
      if (uses != 1 || first.op != Op::kMatmul || first.form == MatmulForm::kOuter) return false;
      const Term& matrix = *first.arguments.front();
      return matrix.op == Op::kVariable && matrix.variable == id;
    }
    is_made = is_made || step->variables.front() == id;
  }
  return false;
}

void CudaWholeRoutine::plan_matmul(const Term& term, Planned& planned, const std::string& name,
                                   std::optional<VariableId> id) {
  const Term &matrix = *term.arguments[0], &vectors = *term.arguments[1];
  keep_computed(vectors);
  const std::uint32_t stage = std::max(ready(matrix).all, ready(vectors).all);
  const std::string address = address_for(id, name, term.type());
  const std::string given = size(vectors.type()), wanted = size(term.type());
  const Planned of_matrix = planned_of(matrix);
  const bool fills = !of_matrix.fills.empty(), of_rows = term.form == MatmulForm::kOfRows;
  const std::string filled = of_matrix.name + "_filled";
  add(stage, [=, this, &vectors, &term] {
    define(of_matrix);
    const std::string by = array(vectors);
    std::string from = of_matrix.name;
    out_.source_line(term.at);
    if (fills) {
      out_.line("float* const " + filled + " = " + of_matrix.fills + ";");
      from = "Filling{" + from + ", " + filled + "}";
    }
    out_.line(std::string(of_rows ? "products_of_rows" : "products_of_columns") + "(part, n, " + from + ", " + given +
              ", " + by + ", " + wanted + ", " + address + ");");
  });
  planned = {{stage + 1, stage + 1}, [=, this] { define_memory(name, "float", address); }, name};
  if (!fills) return;
  planned_of(matrix) = {{stage + 1, stage + 1}, [=, this] { define_memory(filled, "float", of_matrix.fills); }, filled};
}

void CudaWholeRoutine::plan_outer_product(const Term& term, Planned& planned, const std::string& name,
                                          std::optional<VariableId> id) {
  const Term &left = *term.arguments[0], &right = *term.arguments[1];
  keep_computed(left);
  keep_computed(right);
  const std::uint32_t stage = std::max(ready(left).all, ready(right).all);
  planned = {{stage, stage},
             [=, this, &left, &right, &term] {
               const std::string of_rows = array(left), of_columns = array(right);
               out_.source_line(term.at);
               out_.line("const auto " + name + " = outer_product(n, " + size(left.type()) + ", " + of_rows + ", " +
                         size(right.type()) + ", " + of_columns + ");");
             },
             name,
             kOuterCost,
             true};
  if (id && uses_[*id] > 1) keep(term.type(), planned, id);
}

/// Plans `orthonormalize`: the last tile to have copied its elements does all of it, as each vector needs earlier ones.
void CudaWholeRoutine::plan_orthonormalize(const Term& term, Planned& planned, const std::string& name,
                                           std::optional<VariableId> id) {
  const Term& of = *term.arguments[0];
  const std::uint32_t stage = ready_to_share(of);
  const std::string count = size(term.type()), length = block_size(term.block);
  const std::string address = address_for(id, name, term.type());
  const std::string rest = memory("double", name + "_rest", "8 * " + length);
  add(
      stage,
      [=, this, &of] {
        const std::string from = array(of);
        out_.line("fill(part, " + count + ", " + from + ", " + address + ");");
      },
      [=, this, &term] {
        out_.source_line(term.at);
        out_.line("orthonormalize(part, " + count + ", " + length + ", " + address + ", " + rest + ");");
      });
  planned = {{stage + 1, stage + 1}, [=, this] { define_memory(name, "float", address); }, name};
}

void CudaWholeRoutine::plan_vector_reduction(const Term& term, Planned& planned, const std::string& name) {
  const Term& of = *term.arguments[0];
  bool ordered = false;
  const std::string by = reducer(term, ordered);
  const ScalarType element = term.type().element;
  const std::string type = type_text(element), vectors = size(term.type()), length = block_size(term.block);
  const std::string address = memory(type, name, cuda_bytes(vectors, element));
  const Term* initial = term.arguments.size() > 1 ? term.arguments[1].get() : nullptr;
  const std::uint32_t stage = std::max(ready(of).all, initial != nullptr ? ready_of_scalar(*initial) : 0);
  // For an empty vector converts the end of 32 bits' range to that of the element's type.
  const std::string narrow =
      !is_narrowed(term) ? ""
                         : ", [](" + type + " x) { return " + cuda_conversion({element.kind, 32}, element, "x") + "; }";
  add(stage, [=, this, &of, &term] {
    const std::string from = array(of), begin = initial != nullptr ? ", " + scalar(*initial) : "";
    out_.source_line(term.at);
    out_.line(std::string(ordered ? "reduce" : "join") + "_vectors<" + by + ">(part, " + size(of.type()) + ", " +
              length + ", " + from + ", " + vectors + ", " + address + begin + narrow + ");");
  });
  planned = {{stage + 1, stage + 1}, [=, this] { define_memory(name, type, address); }, name};
}

}  // namespace casync::compll
