// SPDX-License-Identifier: Apache-2.0
//
// The plan of a program's loops over tiles on a CPU: passes, loops, and the values that each of them computes, in the
// order of their lines. compll/codegen/cpu spells it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "base/status.h"
#include "compll/ir/tiles/lower.h"
#include "compll/ir/tiles/needs.h"
#include "compll/ir/tiles/routine_values.h"
#include "compll/ir/tiles/schedule.h"

namespace casync::compll {

struct CpuReduction {
  ValueId taken = 0;                   ///< the operand; of a count of zeros and ones the condition
  std::optional<Condition> condition;  ///< nothing needs the result without it
  bool in_chunks = false;              ///< the order of elements can be seen: chunks are reduced, then their results
  bool counts_all = false;             ///< counts all elements of a block: there is nothing to take
};

/// A function that the program reduces by.
struct CpuFunction {
  RoutineValues values;
  std::vector<ValueId> lines;
};

/// The values of a block that are computed once for it.
struct CpuBlockValues {
  std::vector<ValueId> values;
  std::vector<Output> stores;
};

/// A section that a loop stores, and the value: of a single bit the condition that it comes from.
struct CpuStore {
  std::uint32_t section = 0;
  ValueId value = 0;
};

/// The part of a loop that runs only if a residual or states are kept.
struct CpuKept {
  std::vector<ValueId> elements;
  std::vector<Output> stores;
};

/// A loop over the elements of a tile, or of the blocks that are worked on together.
struct CpuLoop {
  std::size_t phase = 0;
  bool waits = false;          ///< runs only if anything is kept
  std::vector<ValueId> loads;  ///< values of the block from an earlier loop
  CpuBlockValues ahead;
  bool loads_input = false;
  bool takes_top = false;   ///< takes the largest magnitude of all elements
  bool is_longest = false;  ///< computes most for each element: the next elements are fetched here
  std::vector<ValueId> states;
  std::vector<ValueId> elements;
  std::vector<ValueId> reductions;
  std::vector<CpuStore> sections;
  std::optional<CpuKept> states_then;
  std::optional<CpuKept> residual;
  std::vector<ValueId> transforms;  ///< computed after the loop, from operands that it stores
  CpuBlockValues after;
  std::vector<ValueId> saves;  ///< values of the block for a later loop
};

/// The way in which a pass finds out that all elements of the input are finite.
enum class CpuCheck : std::uint8_t {
  kNone,       ///< an earlier pass has seen the same elements
  kOwn,        ///< by a reduction of its own
  kReduction,  ///< by the program's reduction to the largest magnitude
  kBlocks,     ///< by the program's reduction of each block
};

/// A pass over all tiles.
struct CpuPass {
  bool has_blocks = false;  ///< it goes through blocks several times, so they have to be in the first-level cache
  bool waits = false;       ///< it does nothing if nothing is kept
  CpuCheck check = CpuCheck::kNone;
  std::vector<ValueId> of_tensor;
  std::vector<ValueId> random;
  std::vector<std::uint32_t> packed;        ///< sections whose codes are packed together
  std::vector<ValueId> reductions;          ///< to one value for the tensor
  std::vector<ValueId> block_reductions;    ///< to one value for each block
  std::set<ValueId> handed_on;              ///< values of a block that one loop saves and another one loads
  std::size_t arrays = 0;                   ///< arrays of a tile's size for the results of transforms
  std::map<ValueId, std::size_t> array_of;  ///< the array of each transform
  std::vector<CpuLoop> loops;
};

/// Encode or merge.
struct CpuEncoder {
  const Program* program = nullptr;
  const EncodeGraph* encode = nullptr;
  std::optional<Constant> block;

  Schedule schedule;
  std::optional<ValueId> top;  ///< the reduction that says if all elements are finite
  std::map<ValueId, CpuReduction> reductions;
  RoutineValues values;
  std::vector<CpuFunction> functions;
  ValueFlags always;  ///< values that are needed even if no residual is kept
  std::vector<CpuPass> passes;
  std::vector<ValueId> at_end;     ///< the tensor's values that the end needs
  std::vector<Output> end_stores;  ///< sections with one entry for the tensor

  const Graph& graph() const { return encode->graph; }
};

/// A loop of a decode that transforms blocks.
struct CpuDecoderLoop {
  std::vector<ValueId> sections;
  std::vector<ValueId> elements;
  std::vector<ValueId> transforms;
  bool gives = false;  ///< gives the result's elements
};

/// From the sections of one payload to sixteen elements.
struct CpuDecoder {
  const DecodeGraph* decode = nullptr;
  RoutineValues values;
  std::optional<ValueId> table;  ///< the code, if elements are looked up in a table of all codes
  std::vector<ValueId> of_tensor;
  std::vector<ValueId> of_block;
  bool rotates = false;  ///< transforms blocks, so that it gives a part of a tile at a time
  std::vector<CpuDecoderLoop> loops;
  std::size_t arrays = 0;
  std::map<ValueId, std::size_t> array_of;
};

/// From a tile of the decoded vector and the states to the gradient and the states.
struct CpuResult {
  const ResultGraph* result = nullptr;
  RoutineValues values;
  std::vector<ValueId> of_tensor;
  std::vector<ValueId> random;
  std::vector<ValueId> states;
  std::vector<ValueId> elements;
  std::vector<Output> stores;
};

/// All routines of a program.
struct CpuTiles {
  const Program* program = nullptr;
  const Lowered* lowered = nullptr;
  bool rotates = false;      ///< encode, merge or decode has transforms
  bool merges_bits = false;  ///< a sum of payloads is encoded a word of bits at a time
  CpuDecoder decoder;
  CpuEncoder encoder;
  std::optional<CpuEncoder> merge;
  std::optional<CpuResult> result;
};

/// The reason why loops over tiles do not compute a lowered program; empty if they do.
std::optional<std::string> why_not_tiles(const Program& program, const Lowered& lowered);

/// Plans the loops. Program and Lowered must outlive the plan. Unimplemented, with the reason and its place: loops over
/// the elements of a tile cannot compute the program.
Result<CpuTiles> plan_cpu_tiles(const Program& program, const Lowered& lowered, const Source& source);

/// The passes that make the plan of encode or merge, in order.
struct CpuEncoderPass {
  const char* name;
  void (*run)(CpuEncoder&);
};
const std::vector<CpuEncoderPass>& cpu_encoder_passes();

}  // namespace casync::compll
