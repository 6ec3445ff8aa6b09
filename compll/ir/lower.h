// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "base/status.h"
#include "compll/ir/graph.h"

namespace casync::compll {

/// What encode or merge computes from the input and the states: the sections, and what is kept.
struct EncodeGraph {
  Graph graph;
  ValueId input = 0;
  std::vector<ValueId> sections;    ///< in the order of the payload
  std::optional<ValueId> residual;  ///< the input less what decode gives for it; nothing where states are kept instead
  std::vector<ValueId> states;      ///< what each of them becomes
};

/// What decode computes from the sections.
struct DecodeGraph {
  Graph graph;
  ValueId result = 0;
};

/// What result computes from what was decoded and the states.
struct ResultGraph {
  Graph graph;
  ValueId input = 0;
  ValueId result = 0;
  std::vector<ValueId> states;
};

/// A program with its operators merged into what happens to one element. `block` is the size of its blocks; nothing
/// where it has none.
struct Lowered {
  EncodeGraph encode;
  std::optional<EncodeGraph> merge;  ///< of a sum of what was decoded, where encode does not do it
  DecodeGraph decode;
  std::optional<ResultGraph> result;  ///< where what was decoded is not the gradient
  std::optional<Constant> block;
};

/// The most elements that `hadamard` turns together where a program is put together: what a GPU's warp has at once.
inline constexpr std::uint32_t kMostTurned = 128;

/// Puts the operators of a program together. The program outlives the result's use.
/// Unimplemented: blocks of two sizes, elements picked out of their order, arrays of a fixed size, `hadamard` of more
/// than kMostTurned elements, a `result` that looks at other elements; says where.
Result<Lowered> lower(const Program& program, const Source& source);

}  // namespace casync::compll
