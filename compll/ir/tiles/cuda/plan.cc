// SPDX-License-Identifier: Apache-2.0
#include "compll/ir/tiles/cuda/plan.h"

#include <bit>
#include <string>

#include "compll/ir/cannot_plan.h"
#include "compll/ir/tiles/cuda/ahead.h"
#include "compll/ir/tiles/cuda/decoder.h"
#include "compll/ir/tiles/cuda/launches.h"
#include "compll/ir/tiles/cuda/loops.h"
#include "compll/ir/tiles/cuda/values.h"
#include "compll/ir/tiles/outputs.h"

namespace casync::compll {
namespace {

bool is_of_blocks(const Section& section) {
  return section.type.extent && section.type.extent->kind == Extent::Kind::kBlocks;
}

/// The reason why sections, blocks or parameters do not fit; empty if they do.
std::optional<std::string> refused(const Program& program, const Lowered& lowered) {
  if (program.parameters.size() >= cuda::kMostParameters) {
    return "more than " + std::to_string(cuda::kMostParameters - 1) + " parameters cannot be compiled for CUDA";
  }
  const bool fixed = lowered.block && !lowered.block->parameter;
  const std::uint32_t block = !lowered.block ? 16
                              : fixed
                                  ? lowered.block->value
                                  : static_cast<std::uint32_t>(program.parameters[*lowered.block->parameter].initial);
  if (block < 16 || !std::has_single_bit(block)) {
    return "blocks of " + std::to_string(block) +
           " elements cannot be compiled for CUDA by tiles; take a power of two from 16 on";
  }
  for (const Section& section : program.sections) {
    if (section.type.element == kTritType) {
      return "section `" + section.name + "` has bytes of five trits, which tiles of whole units would share";
    }
    // Entries of two blocks may not share a byte: two threads would write it.
    if (is_of_blocks(section) && section.type.element.bits % 8 != 0) {
      return "section `" + section.name + "` has entries of " + text_of(section.type.element) +
             " for each block, which cannot be compiled for CUDA by tiles; widen them to whole bytes";
    }
  }
  return std::nullopt;
}

void find_conditions(CudaEncoder& plan) {
  plan.conditions = needed_if(plan.graph(), values_of(outputs_of(*plan.encode)));
}

CudaEncoder plan_encoder(const Program& program, const EncodeGraph& encode, const Lowered& lowered) {
  CudaEncoder plan;
  plan.program = &program;
  plan.encode = &encode;
  plan.block = lowered.block;
  for (const CudaEncoderPass& pass : cuda_encoder_passes()) pass.run(plan);
  return plan;
}

/// Gives both encoders the codec's shape.
void share_shape(CudaTiles& plan) {
  plan.shape = plan.merge ? shape_of_both(plan.encoder.shape, plan.merge->shape) : plan.encoder.shape;
  for (CudaEncoder* each : {&plan.encoder, plan.merge ? &*plan.merge : nullptr}) {
    if (each == nullptr) continue;
    each->shape = plan.shape;
    // A unit would be a block, and a transform may take more elements.
    if (plan.shape.ordered && each->graph().has_transforms()) {
      throw CannotPlan{plan.program->variables[plan.program->encode.gradient].at,
                       "`hadamard` together with sums of blocks"};
    }
  }
}

CudaTiles plan_all(const Program& program, const Lowered& lowered) {
  CudaTiles plan;
  plan.program = &program;
  plan.lowered = &lowered;
  plan.decoder = plan_cuda_decoder(lowered.decode);
  plan.encoder = plan_encoder(program, lowered.encode, lowered);
  if (lowered.merge) plan.merge = plan_encoder(program, *lowered.merge, lowered);
  if (lowered.result) plan.result = plan_cuda_result(*lowered.result);
  share_shape(plan);
  plan.rotates = plan.decoder.rotates || plan.encoder.graph().has_transforms() ||
                 (plan.merge && plan.merge->graph().has_transforms());
  return plan;
}

}  // namespace

const std::vector<CudaEncoderPass>& cuda_encoder_passes() {
  static const std::vector<CudaEncoderPass> passes = {
      {"schedule loops", &schedule_loops},    // the loops that reductions divide
      {"find conditions", &find_conditions},  // parameters without which values are not needed
      {"plan launches", &plan_launches},      // refuses what two launches cannot do
      {"find of places", &find_of_places},    // signs of a rotation
      {"name values", &name_values},          // all values that have to be kept are known by now
      {"lay out loops", &lay_out_loops},      // only values with lines stand in them
      {"plan preambles", &plan_preambles},
  };
  return passes;
}

Result<CudaTiles> plan_cuda_tiles(const Program& program, const Lowered& lowered, const Source& source) {
  if (const std::optional<std::string> reason = refused(program, lowered)) {
    return unimplemented(source.name() + ": " + *reason);
  }
  try {
    return plan_all(program, lowered);
  } catch (const CannotPlan& refusal) {
    return status_of(refusal, source, "for CUDA by tiles");
  }
}

}  // namespace casync::compll
