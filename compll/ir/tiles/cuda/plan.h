// SPDX-License-Identifier: Apache-2.0
//
// The plan of a program's kernels by tiles: launches, passes, loops, and the values that each of them computes, in the
// order of their lines. compll/codegen/cuda spells it.
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
#include "compll/ops/cuda/launch.h"

namespace casync::compll {

struct CudaTileValues {
  RoutineValues of;
  ValueFlags seen;   ///< floats whose NaN's bits can be seen
  ValueFlags asked;  ///< floats whose bits the program itself asks for, and their operands
};

/// A function that the program reduces by.
struct CudaFunction {
  CudaTileValues values;
  std::vector<ValueId> lines;
};

/// A value that is written for a thread's four neighbours ahead of the loop that needs it: a transform, or a value made
/// of the elements' places.
struct CudaAhead {
  ValueId id = 0;
  std::vector<ValueId> elements;  ///< the lines of the loop that computes it, or the transform's operand
  bool is_kept = false;           ///< an earlier loop has kept it, which holds if the unit is one row
  bool keeps = false;             ///< it is kept for later loops
};

/// The residual of a loop over four neighbours.
struct CudaResidual {
  ValueId value = 0;
  bool asks = false;     ///< computed only if it is kept; where it is kept as a rule, the check costs more
  bool rotates = false;  ///< computed by a function of its own, with the GPU's own NaN first
  std::vector<CudaAhead> ahead;
  std::vector<ValueId> elements;
};

/// A loop over four neighbours for each thread.
struct CudaQuads {
  std::vector<ValueId> states;  ///< loaded ahead of it
  std::vector<Output> stores;
  std::vector<ValueId> drawn;  ///< random numbers of its elements
  std::vector<CudaAhead> ahead;
  std::vector<ValueId> elements;
  std::vector<ValueId> reductions;
  std::optional<CudaResidual> residual;
};

/// A loop over the 16 lanes of reductions whose order can be seen.
struct CudaLanes {
  std::vector<ValueId> elements;
  std::vector<ValueId> reductions;
  std::optional<Condition> condition;  ///< the loop runs only under it
  bool are_sums = false;               ///< they do not check for NaN until the end
};

/// A phase: values of the block, then its loops.
struct CudaPhase {
  std::vector<ValueId> of_block;
  std::vector<Output> block_stores;
  bool has_loop = false;
  std::vector<ValueId> block_reductions;
  std::optional<CudaQuads> quads;
  std::optional<CudaLanes> lanes;
};

/// The begin of a function: the tensor's values that it needs, and the sections that it stores.
struct CudaPreamble {
  std::vector<ValueId> values;
  std::vector<Output> stores;
};

struct CudaPass {
  CudaPreamble preamble;
  bool draws = false;               ///< random numbers, of blocks or elements
  std::vector<ValueId> random;      ///< random numbers of elements
  std::vector<ValueId> reductions;  ///< to one value for the tensor
  std::vector<ValueId> kept;        ///< values that are written ahead of several loops
  std::vector<CudaPhase> phases;
};

/// Encode or merge.
struct CudaEncoder {
  const Program* program = nullptr;
  const EncodeGraph* encode = nullptr;
  std::optional<Constant> block;

  Schedule schedule;
  std::vector<std::optional<Condition>> conditions;  ///< the conditions without which values are not needed
  std::map<ValueId, std::uint32_t> slots;            ///< the workspace's words for reductions to one value
  std::size_t statistics = 0;                        ///< passes of the first launch; the last pass has one of its own
  cuda::Shape shape;
  std::set<ValueId> of_places;  ///< values made of the element's place alone that are written ahead
  CudaTileValues values;
  std::vector<CudaFunction> functions;
  std::vector<CudaPass> passes;
  CudaPreamble end;  ///< stores the tensor's entries

  const Graph& graph() const { return encode->graph; }
};

/// From one payload to four neighbours.
struct CudaDecoder {
  const DecodeGraph* decode = nullptr;
  CudaTileValues values;
  bool rotates = false;  ///< has transforms
  std::vector<ValueId> of_tensor;
  bool has_block_values = false;
  std::vector<ValueId> of_block;
  std::vector<ValueId> sections;  ///< sections of elements, loaded four at a time
  std::vector<CudaAhead> ahead;
  std::vector<ValueId> elements;
};

/// From four decoded neighbours and the states to the gradient and the states.
struct CudaResult {
  const ResultGraph* result = nullptr;
  CudaTileValues values;
  std::vector<ValueId> of_tensor;
  std::vector<ValueId> drawn;
  std::vector<ValueId> elements;
  std::vector<Output> stores;
};

/// All kernels of a program.
struct CudaTiles {
  const Program* program = nullptr;
  const Lowered* lowered = nullptr;
  cuda::Shape shape;     ///< it has room for encode and merge
  bool rotates = false;  ///< encode, merge or decode has transforms
  CudaDecoder decoder;
  CudaEncoder encoder;
  std::optional<CudaEncoder> merge;
  std::optional<CudaResult> result;
};

/// Plans the kernels. Program and Lowered must outlive the plan. Unimplemented, with the reason and its place: the
/// program takes more than two passes, has sections that tiles would share, or an operation that kernels by tiles do
/// not have.
Result<CudaTiles> plan_cuda_tiles(const Program& program, const Lowered& lowered, const Source& source);

/// The passes that make the plan of encode or merge, in order.
struct CudaEncoderPass {
  const char* name;
  void (*run)(CudaEncoder&);
};
const std::vector<CudaEncoderPass>& cuda_encoder_passes();

}  // namespace casync::compll
