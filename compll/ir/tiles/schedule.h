// SPDX-License-Identifier: Apache-2.0
//
// The order in which values are computed. A pass reads all of memory once; a reduction to one value for the tensor ends
// it. Within a pass a block is in the cache and goes through phases, each one loop over its elements: a reduction to
// one value for the block has to be complete when the next loop uses it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compll/ir/tiles/graph.h"

namespace casync::compll {

/// The destination of a value.
struct Output {
  enum class Kind : std::uint8_t { kSection, kResidual, kState, kResult };
  Kind kind = Kind::kSection;
  std::uint32_t index = 0;  ///< the number of the section or state
  ValueId value = 0;
};

struct Phase {
  std::vector<ValueId> of_block;     ///< computed once for the block ahead of the loop, in order
  std::vector<Output> block_stores;  ///< stores of of_block
  std::vector<ValueId> elements;     ///< computed in the loop, in order
  std::vector<ValueId> reductions;   ///< fed by the loop
  std::vector<ValueId> transforms;   ///< fed by the loop and computed after it, with Transforms::kKept
  std::vector<Output> stores;        ///< done in the loop
};

struct Pass {
  std::vector<ValueId> of_tensor;  ///< computed ahead of the pass, in order
  std::vector<Phase> phases;       ///< the last one may have no loop, only values that follow from the phase above it
};

struct Schedule {
  std::vector<Pass> passes;
  std::vector<ValueId> of_tensor;     ///< computed after the last pass
  std::vector<Output> tensor_stores;  ///< stores of values with one entry for the tensor
};

/// Returns true if the phase has anything to do for each element.
bool has_loop(const Phase& phase);
/// Returns true if the output is a residual or a state, which is kept from step to step if the caller wants it.
bool is_kept(const Output& output);
/// Returns true if the phase has nothing to do when nothing is kept.
bool is_for_kept(const Phase& phase);
bool is_for_kept(const Pass& pass);
/// Returns true if the pass goes block by block.
bool has_blocks(const Pass& pass);
/// The index of the phase with most to compute for each element: the memory is idle longest in its loop.
std::size_t longest_loop(const Pass& pass);

/// The way in which transforms are computed: kAgain: each loop that uses one computes it from its elements; kKept: one
/// loop computes its operand, and the loops of later phases load the transform from memory.
enum class Transforms : std::uint8_t { kAgain, kKept };

/// Schedules the values that these outputs need, and no others.
Schedule schedule(const Graph& graph, const std::vector<Output>& outputs, Transforms transforms);

}  // namespace casync::compll
