// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/tiles/cpu/plan.h"

#include <bit>
#include <string>

#include "compll/ir/cannot_plan.h"
#include "compll/ir/tiles/bit_merge.h"
#include "compll/ir/tiles/cpu/block_values.h"
#include "compll/ir/tiles/cpu/decoder.h"
#include "compll/ir/tiles/cpu/loops.h"
#include "compll/ir/tiles/cpu/reductions.h"
#include "compll/ir/tiles/cpu/transform_arrays.h"
#include "compll/ir/tiles/cpu/values.h"

namespace casync::compll {
namespace {

/// Returns true if a block has a power of two of elements, from 16 on. Other values of a parameter have a text of their
/// own, in vector form (load/file_program.cc).
bool has_full_groups(const Program& program, const Constant& block) {
  const auto size =
      block.parameter ? static_cast<std::uint32_t>(program.parameters[*block.parameter].initial) : block.value;
  return size >= 16 && std::has_single_bit(size);
}

void check_operations(CpuEncoder& plan) { check_doubles(plan.graph(), plan.schedule); }

CpuEncoder plan_encoder(const Program& program, const EncodeGraph& encode, const Lowered& lowered) {
  CpuEncoder plan;
  plan.program = &program;
  plan.encode = &encode;
  plan.block = lowered.block;
  for (const CpuEncoderPass& pass : cpu_encoder_passes()) pass.run(plan);
  return plan;
}

/// The reason why sections or blocks do not fit tiles; empty if they do.
std::optional<std::string> why_shape_does_not_fit(const Program& program, const Lowered& lowered) {
  for (const Section& section : program.sections) {
    const bool blocks = section.type.extent && section.type.extent->kind == Extent::Kind::kBlocks;
    // A tile's entries have to begin with a byte of their own.
    if (blocks && section.type.element.bits % 8 != 0) {
      return "section `" + section.name + "` has entries of " + text_of(section.type.element) +
             " for each block, which begin within a byte";
    }
    // Sixteen elements are packed from values of 32 bits.
    if (section.type.extent && !blocks && section.type.element == kDoubleType) {
      return "section `" + section.name + "` has a double for each element";
    }
  }
  // Sixteen elements are worked on at a time, and a block has to end with them.
  if (lowered.block && !has_full_groups(program, *lowered.block)) return "blocks that are no power of two from 16 on";
  return std::nullopt;
}

CpuTiles plan_all(const Program& program, const Lowered& lowered) {
  CpuTiles plan;
  plan.program = &program;
  plan.lowered = &lowered;
  plan.decoder = plan_cpu_decoder(lowered.decode);
  plan.encoder = plan_encoder(program, lowered.encode, lowered);
  if (lowered.merge) plan.merge = plan_encoder(program, *lowered.merge, lowered);
  if (lowered.result) plan.result = plan_cpu_result(*lowered.result);
  plan.rotates = lowered.encode.graph.has_transforms() || lowered.decode.graph.has_transforms() ||
                 (lowered.merge && lowered.merge->graph.has_transforms());
  plan.merges_bits = merges_bits(program, lowered);
  return plan;
}

}  // namespace

const std::vector<CpuEncoderPass>& cpu_encoder_passes() {
  static const std::vector<CpuEncoderPass> passes = {
      {"schedule loops", &schedule_loops},  // the loops that reductions and transforms divide
      {"check operations", &check_operations},
      {"plan reductions", &plan_reductions},
      {"name values", &name_values},      // all conditions that have to be kept are known by now
      {"lay out loops", &lay_out_loops},  // only values with lines stand in them
      {"hand on block values", &hand_on_block_values},
      {"place transforms", [](CpuEncoder& plan) { place_transforms(plan); }},
      {"plan tensor values", &plan_tensor_values},
  };
  return passes;
}

std::optional<std::string> why_not_tiles(const Program& program, const Lowered& lowered) {
  if (const auto why = why_shape_does_not_fit(program, lowered)) return why;
  try {
    plan_all(program, lowered);
    return std::nullopt;
  } catch (const CannotPlan& refusal) {
    return refusal.what + " is not computed by tiles";
  }
}

Result<CpuTiles> plan_cpu_tiles(const Program& program, const Lowered& lowered, const Source& source) {
  if (const auto why = why_shape_does_not_fit(program, lowered)) return unimplemented(source.name() + ": " + *why);
  try {
    return plan_all(program, lowered);
  } catch (const CannotPlan& refusal) {
    return status_of(refusal, source, "for the CPU by tiles");
  }
}

}  // namespace casync::compll
