// SPDX-License-Identifier: Apache-2.0
#include "compll/codegen/cuda/whole_reductions.h"

#include <algorithm>

#include "compll/codegen/cuda/terms.h"
#include "compll/codegen/cuda/whole_routine.h"
#include "compll/codegen/text/operation_text.h"
#include "compll/lang/terms.h"

namespace casync::compll {

std::string CudaReductions::reducer(const Term& term, bool& ordered) {
  const ScalarType type = term.arguments.front()->type().element;
  const std::string of = "<" + type_text(type) + ">";
  ordered = term.reducer == Reducer::kUser || (term.reducer == Reducer::kSum && type.is_float());
  switch (term.reducer) {
    case Reducer::kMagnitude: return "Magnitude";
    case Reducer::kCount: return "Count";
    case Reducer::kSum:
      if (type == kBoolType) break;
      return type.is_float() ? "LaneSum" : "IntegerSum" + of;
    case Reducer::kMin:
    case Reducer::kMax:
      if (type == kBoolType || type == kDoubleType) break;
      return (term.reducer == Reducer::kMin ? "Minimum" : "Maximum") + of;
    case Reducer::kUser:
      if (type == kBoolType) break;
      return "LaneFold<" + type_text(type) + ", " + text_.values.function(term) + ">";
  }
  text_.refuse(term.at, "this reduction");
}

bool CudaReductions::is_narrowed(const Term& term) {
  const ScalarType element = term.type().element;
  return (term.reducer == Reducer::kMin || term.reducer == Reducer::kMax) && element.is_integer() && element.bits != 32;
}

/// The condition in front of a call that not all parameters need.
std::string CudaReductions::only_if_needed(const Term& term) {
  const auto found = needed_if_.find(&term);
  if (found == needed_if_.end()) return "";
  const std::string value = text_.values.scalar(*found->second.value);
  return "if (" + (found->second.holds ? value : "!(" + value + ")") + ") ";
}

void CudaReductions::plan_reduction(const Term& term) {
  const Term& of = *term.arguments[0];
  bool ordered = false;
  const std::string by = reducer(term, ordered), type = type_text(term.type().element);
  const std::string name =
      text_.names.fresh(std::string(term.reducer == Reducer::kUser ? "reduced" : name_of(term.reducer)));
  const std::string slot =
      text_.stages.memory("uint64_t", name, "8", ordered ? CudaStages::Zeros::kNone : CudaStages::Zeros::kCleared);
  const Term* initial = term.arguments.size() > 1 ? term.arguments[1].get() : nullptr;
  const std::string count = CudaNames::size(of.type()), part = CudaNames::part_of(of.type());
  // Chunks are shared otherwise than elements.
  const std::uint32_t shared = ordered && part != "part" ? text_.plan.ready(of).all : text_.plan.ready_to_share(of);
  const std::uint32_t stage = std::max(shared, initial != nullptr ? text_.plan.ready_of_scalar(*initial) : 0);
  if (!ordered && text_.input.is_reduced_with_input(term, stage)) {
    text_.input.reduce_too({&of, by, name + "_all", slot});
  } else if (!ordered) {
    text_.stages.add_own(stage, [=, this, &of, &term] {
      const std::string from = text_.plan.array(of), condition = only_if_needed(term);
      text_.out.source_line(term.at);
      text_.out.line(condition + "reduce_joined<" + by + ">(" + part + ", " + count + ", " + from + ", " + slot + ");");
    });
  } else {
    const std::string chunk = by == "LaneSum" ? "double" : type;
    const std::string chunks =
        text_.stages.memory(chunk, name + "_chunks", "8 * blocks_of(" + count + ", kReductionChunk)");
    text_.stages.add_own(
        stage,
        [=, this, &of, &term] {
          const std::string from = text_.plan.array(of), condition = only_if_needed(term);
          if (initial != nullptr) text_.values.scalar(*initial);
          text_.out.source_line(term.at);
          text_.out.line(condition + "reduce_chunks<" + by + ">(" + part + ", " + count + ", " + from + ", " + chunks +
                         ");");
        },
        [=, this, &term] {
          text_.out.line(only_if_needed(term) + "finish_chunks<" + by + ">(" + count + ", " + chunks + ", " + slot +
                         (initial != nullptr ? ", " + text_.values.scalar(*initial) : "") + ");");
        },
        has_condition(term) ? 1 : 4);
  }
  if (part != "part") text_.stages.keep_together();
  const ScalarType element = term.type().element;
  const bool narrowed = is_narrowed(term);
  text_.plan.reduction(term) = {{stage + 1, stage + 1},
                                [=, this] {
                                  std::string value = (ordered ? "out_of_slot<" + type + ">" : by + "::value_of") +
                                                      "(load_slot(" + slot + "))";
                                  // Converts the result of nothing, an end of 32 bits' range, to that of the own type.
                                  if (narrowed) value = cuda_conversion({element.kind, 32}, element, value);
                                  text_.out.line("const " + type + " " + name + " = " + value + ";");
                                },
                                name,
                                0};
}

void CudaReductions::plan_block_reduction(const Term& term, CudaPlanned& planned, const std::string& name) {
  const Term& of = *term.arguments[0];
  bool ordered = false;
  const std::string by = reducer(term, ordered), type = type_text(term.type().element);
  const std::string address =
      text_.stages.memory(type, name, cuda_bytes(CudaNames::size(term.type()), term.type().element));
  const Term* initial = term.arguments.size() > 1 ? term.arguments[1].get() : nullptr;
  const std::uint32_t stage =
      std::max(text_.plan.ready(of).own, initial != nullptr ? text_.plan.ready_of_scalar(*initial) : 0);
  text_.stages.add_own(stage, [=, this, &of, &term] {
    const std::string from = text_.plan.array(of),
                      begin = initial != nullptr ? ", " + text_.values.scalar(*initial) : "";
    text_.out.source_line(term.at);
    text_.out.line(std::string(ordered ? "reduce" : "join") + "_blocks<" + by + ">(part, " +
                   CudaNames::block_size(term.block) + ", " + from + ", " + address + begin + ");");
    text_.out.line("__syncthreads();");
  });
  planned = {{stage, stage + 1}, [=, this] { text_.plan.define_memory(name, type, address); }, name, 0};
}

}  // namespace casync::compll
