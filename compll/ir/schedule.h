// SPDX-License-Identifier: Apache-2.0
//
// When values are computed. A pass reads all of memory once; a reduction to one value for the tensor ends it. Within a
// pass a block is in the cache, and goes through phases: one loop over its elements each, because a reduction to one
// value for the block has to be over before the next loop can use it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compll/ir/graph.h"

namespace casync::compll {

/// Where a value goes to.
struct Output {
  enum class Kind : std::uint8_t { kSection, kResidual, kState, kResult };
  Kind kind = Kind::kSection;
  std::uint32_t index = 0;  ///< of kSection and kState: which
  ValueId value = 0;
};

struct Phase {
  std::vector<ValueId> of_block;     ///< computed once for the block, before the loop, in order
  std::vector<Output> block_stores;  ///< of these
  std::vector<ValueId> elements;     ///< computed in the loop, in order
  std::vector<ValueId> reductions;   ///< fed by the loop
  std::vector<ValueId> transforms;   ///< fed by the loop and made behind it, where they are kept
  std::vector<Output> stores;        ///< done in the loop
};

struct Pass {
  std::vector<ValueId> of_tensor;  ///< computed before the pass, in order
  std::vector<Phase> phases;       ///< the last one may have no loop, only what follows the one before
};

struct Schedule {
  std::vector<Pass> passes;
  std::vector<ValueId> of_tensor;     ///< computed behind the last pass
  std::vector<Output> tensor_stores;  ///< of what is one for the tensor
};

/// Whether the phase has anything to do for each element.
bool has_loop(const Phase& phase);
/// Whether it is kept from step to step, where that is wanted.
bool is_kept(const Output& output);
/// Whether the phase has nothing to do where nothing is kept.
bool is_for_kept(const Phase& phase);
bool is_for_kept(const Pass& pass);
/// Whether the pass goes block by block.
bool has_blocks(const Pass& pass);
/// Its phase with most to compute for each element: the memory is idle there longest.
std::size_t longest_loop(const Pass& pass);

/// What becomes of transforms: a loop that needs one makes it again from its elements, or a loop makes what one takes,
/// and those of later phases find in memory what it gives.
enum class Transforms : std::uint8_t { kAgain, kKept };

/// What is needed for these outputs, and nothing else.
Schedule schedule(const Graph& graph, const std::vector<Output>& outputs, Transforms transforms);

}  // namespace casync::compll
