// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cuda/vector_reductions.h"

#include "compll/codegen/cuda/reducer.h"
#include "compll/codegen/cuda/terms.h"
#include "compll/codegen/cuda/vector_memory.h"
#include "compll/codegen/cuda/vector_names.h"
#include "compll/codegen/cuda/vector_routine.h"
#include "compll/codegen/text/operation_text.h"

namespace casync::compll {

std::string CudaReductions::reducer(const cuda_vector::Reduction& by) {
  return cuda_reducer(by.term->reducer, by.term->arguments.front()->type().element,
                      by.function ? CudaValues::name_of_function(*by.function) : "");
}

bool CudaReductions::is_narrowed(const cuda_vector::Reduction& by) {
  const ScalarType element = by.term->type().element;
  const bool finds_end = by.term->reducer == Reducer::kMin || by.term->reducer == Reducer::kMax;
  return finds_end && element.is_integer() && element.bits != 32;
}

/// The condition in front of a call that not all parameters need.
std::string CudaReductions::only_if_needed(const Term& term) {
  const auto found = text_.plan.conditions.find(&term);
  if (found == text_.plan.conditions.end()) return "";
  const std::string value = text_.values.scalar(*found->second.value);
  return "if (" + (found->second.holds ? value : "!(" + value + ")") + ") ";
}

/// The last argument of a call, if the reduction begins with a value.
std::string CudaReductions::initial_value(const Term& term) {
  return term.arguments.size() > 1 ? ", " + text_.values.scalar(*term.arguments[1]) : "";
}

std::string CudaReductions::chunks(const cuda_vector::Reduction& by, cuda_vector::SpaceId space) {
  const bool is_sum = by.term->reducer == Reducer::kSum;
  return cuda_space(text_.plan, space, is_sum ? "double" : type_text(by.term->type().element));
}

const Type& CudaReductions::type_of(cuda_vector::Id id) const { return text_.plan.values[id].type; }

void CudaReductions::write(const cuda_vector::ReduceJoined& work) {
  const std::string from = text_.definitions.name(work.from), condition = only_if_needed(*work.by.term);
  text_.out.source_line(work.by.term->at);
  text_.out.line(condition + "reduce_joined<" + reducer(work.by) + ">(" + CudaNames::part_of(type_of(work.from)) +
                 ", " + CudaNames::size(type_of(work.from)) + ", " + from + ", " +
                 cuda_space(text_.plan, work.slot, "uint64_t") + ");");
}

void CudaReductions::write(const cuda_vector::ReduceChunks& work) {
  const std::string from = text_.definitions.name(work.from), condition = only_if_needed(*work.by.term);
  initial_value(*work.by.term);  // defines the names that the last tile's part refers to
  text_.out.source_line(work.by.term->at);
  text_.out.line(condition + "reduce_chunks<" + reducer(work.by) + ">(" + CudaNames::part_of(type_of(work.from)) +
                 ", " + CudaNames::size(type_of(work.from)) + ", " + from + ", " + chunks(work.by, work.chunks) + ");");
}

void CudaReductions::write(const cuda_vector::FinishChunks& work) {
  const std::string condition = only_if_needed(*work.by.term), initial = initial_value(*work.by.term);
  text_.out.line(condition + "finish_chunks<" + reducer(work.by) + ">(" + CudaNames::size(type_of(work.from)) + ", " +
                 chunks(work.by, work.chunks) + ", " + cuda_space(text_.plan, work.slot, "uint64_t") + initial + ");");
}

void CudaReductions::write(const cuda_vector::ReduceBlocks& work) {
  const Term& term = *work.by.term;
  const std::string from = text_.definitions.name(work.from), begin = initial_value(term);
  text_.out.source_line(term.at);
  text_.out.line(std::string(work.by.ordered ? "reduce" : "join") + "_blocks<" + reducer(work.by) + ">(part, " +
                 CudaNames::block_size(term.block) + ", " + from + ", " +
                 cuda_space(text_.plan, work.to, type_text(term.type().element)) + begin + ");");
  text_.out.line("__syncthreads();");
}

void CudaReductions::write(const cuda_vector::ReduceVectors& work) {
  const Term& term = *work.by.term;
  const ScalarType element = term.type().element;
  const std::string type = type_text(element);
  // For an empty vector converts the end of 32 bits' range to that of the element's type.
  const std::string narrow = !is_narrowed(work.by) ? ""
                                                   : ", [](" + type + " x) { return " +
                                                         cuda_conversion({element.kind, 32}, element, "x") + "; }";
  const std::string from = text_.definitions.name(work.from), begin = initial_value(term);
  text_.out.source_line(term.at);
  text_.out.line(std::string(work.by.ordered ? "reduce" : "join") + "_vectors<" + reducer(work.by) + ">(part, " +
                 CudaNames::size(type_of(work.from)) + ", " + CudaNames::block_size(term.block) + ", " + from + ", " +
                 CudaNames::size(term.type()) + ", " + cuda_space(text_.plan, work.to, type) + begin + narrow + ");");
}

}  // namespace casync::compll
