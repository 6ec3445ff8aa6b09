// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cuda/vector_works.h"

#include <cmath>

#include "compll/codegen/cuda/routine.h"
#include "compll/codegen/cuda/terms.h"
#include "compll/codegen/cuda/vector_memory.h"
#include "compll/codegen/cuda/vector_names.h"
#include "compll/codegen/cuda/vector_routine.h"
#include "compll/codegen/text/operation_text.h"

namespace casync::compll {

template <class Kind>
void CudaWorks::write_work(const Kind& work) {
  if constexpr (requires(CudaSelection & selection) { selection.write(work); }) {
    text_.selection.write(work);
  } else if constexpr (requires(CudaReductions & reductions) { reductions.write(work); }) {
    text_.reductions.write(work);
  } else {
    text_.operators.write(work);
  }
}

void CudaWorks::write(const cuda_vector::Work& work) {
  std::visit([&](const auto& each) { write_work(each); }, work);
}

std::string CudaWorks::input_kind() const {
  const bool is_bounded = !std::isinf(text_.program.declares.overflow);
  return is_bounded ? "<" + overflow_bits_text(text_.program) + ">" : "<>";
}

std::string CudaWorks::input_arguments() const { return "part, at.input"; }

void CudaWorks::write_work(const cuda_vector::TakeInput&) {
  text_.out.line("take_input" + input_kind() + "(" + input_arguments() + ");");
  text_.out.line("__syncthreads();");
}

void CudaWorks::write_work(const cuda_vector::Fill& work) {
  const std::string from = work.from ? text_.definitions.name(*work.from)
                                     : "[&](uint64_t) { return " + type_text(work.type.element) + "(0); }";
  const std::string rest = ", " + from + ", " + cuda_address(text_.plan, work.to) + ");";
  text_.out.source_line(work.at);
  if (work.manner == cuda_vector::Fill::Manner::kBlocks) {
    text_.out.line("fill_blocks(part, " + CudaNames::block_size(work.type.extent->count) + rest);
  } else {
    const bool neighbours = work.manner == cuda_vector::Fill::Manner::kNeighbours;
    text_.out.line(std::string(neighbours ? "fill_neighbours(" : "fill(") + (work.evenly ? "part.evenly()" : "part") +
                   ", " + CudaNames::size(work.type) + rest);
  }
  if (work.waits) text_.out.line("__syncthreads();");
}

void CudaWorks::write_work(const cuda_vector::Send& work) {
  const Type& type = text_.program.sections[work.section].type;
  const std::string width = "<" + cuda_width(type.element) + ">(";
  const std::string to = "in_global(part.segment.payload) + sections." +
                         CudaRoutine::section_word(text_.program, static_cast<std::uint32_t>(work.section));
  if (!work.from) {
    const std::string value = text_.values.scalar(*work.term);
    return text_.out.line("store_scalar" + width + "part, " + value + ", " + to + ");");
  }
  const std::string array = text_.definitions.name(*work.from), by = width + CudaNames::part_of(type) + ", ";
  const bool by_blocks = CudaNames::is_of_blocks(type) && type.element.bits >= 32 && type.element != kTritType;
  text_.out.line((by_blocks ? "store_blocks" + by + CudaNames::block_size(type.extent->count)
                            : "store_section" + by + CudaNames::size(type)) +
                 ", " + array + ", " + to + ");");
}

void CudaWorks::write_work(const cuda_vector::KeepState& work) {
  const std::string array = text_.definitions.name(work.from);
  const Type& type = text_.plan.values[work.from].type;
  const cuda_vector::Address to{cuda_vector::Address::Base::kStateOut, work.state, kFloatType, {}};
  text_.out.line("if (part.segment.states_out != nullptr) fill(" + CudaNames::part_of(type) + ", " +
                 CudaNames::size(type) + ", " + array + ", " + cuda_address(text_.plan, to) + ");");
}

void CudaWorks::write_work(const cuda_vector::StoreOne& work) {
  const std::string value = text_.definitions.name(work.from);
  text_.out.line("if (part.is_first_thread()) *" + cuda_address(text_.plan, work.to) + " = " + value + ";");
}

void CudaWorks::write_work(const cuda_vector::GiveZeros&) { text_.out.line("give_zeros(part);"); }

void CudaWorks::write_work(const cuda_vector::GiveList& work) {
  const std::string at = text_.definitions.name(work.places), from = text_.definitions.name(work.values);
  const Type& type = text_.plan.values[work.places].type;
  text_.out.source_line(work.at);
  text_.out.line("give_at(" + CudaNames::part_of(type) + ", " + CudaNames::size(type) + ", " + at + ", " + from + ");");
}

void CudaWorks::write_work(const cuda_vector::Give& work) {
  const std::string array = text_.definitions.name(work.from);
  text_.out.line("give(part, " + array + ");");
}

void CudaWorks::write_work(const cuda_vector::GiveCopied& work) {
  const std::string text = "give(part, Array<float>{" + cuda_address(text_.plan, work.from) + "});";
  if (text_.plan.role == cuda_vector::Role::kTurn) return text_.out.line(text);  // in a stage of its own
  text_.out.line("__syncthreads();");
  text_.out.line(text + "  // last: it may be what was read");
}

std::string CudaWorks::values(const std::optional<cuda_vector::Id>& values, const Term& scatter) {
  return values ? text_.definitions.name(*values)
                : "[&](uint64_t) { return " + text_.values.scalar(*scatter.arguments[1]) + "; }";
}

void CudaWorks::write_work(const cuda_vector::Change& work) {
  const Term& term = *work.term;
  const Type& places = text_.plan.values[work.places].type;
  const ScalarType element = term.type().element;
  const bool adds = term.op == Op::kScatterAdd;
  if (work.waits) text_.out.line("__syncthreads();");
  const std::string at = text_.definitions.name(work.places), from = values(work.values, term),
                    type = type_text(element);
  text_.out.source_line(term.at);
  std::string sum = cuda_operation(Op::kAdd, element, {"a", "b"});
  if (adds && element.is_integer() && element.bits != 32) {
    sum = cuda_conversion(kIntType, element, cuda_operation(Op::kAdd, kIntType, {"int32_t(a)", "int32_t(b)"}));
  }
  text_.out.line(std::string(adds ? "add" : "set") + "_at(" + CudaNames::part_of(places) + ", " +
                 CudaNames::size(places) + ", " + at + ", " + from + ", " + CudaNames::size(term.type()) + ", " +
                 cuda_address(text_.plan, work.to) +
                 (adds ? ", [](" + type + " a, " + type + " b) -> " + type + " { return " + sum + "; }" : "") + ");");
}

void CudaWorks::write_work(const cuda_vector::SubtractDecoded& work) {
  const std::string at = text_.definitions.name(work.places), from = text_.definitions.name(work.values);
  const Type& places = text_.plan.values[work.places].type;
  text_.out.line("__syncthreads();");
  text_.out.line("// The residual is what was encoded, which is there, less what decoding gives.");
  text_.out.line(
      "if (part.segment.residual_out != nullptr) add_at(" + CudaNames::part_of(places) + ", " +
      CudaNames::size(places) + ", " + at + ", " + from +
      ", n, in_global(part.segment.residual_out), [](float a, float b) -> float { return subtract(a, b); });");
}

}  // namespace casync::compll
