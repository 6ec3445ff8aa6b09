// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "base/status.h"
#include "compll/ir/graph.h"

namespace casync::compll {

/// What encode computes from the input: the sections, and what feedback keeps.
struct EncodeGraph {
  Graph graph;
  ValueId input = 0;
  std::vector<ValueId> sections;  ///< in the order of the payload
  ValueId residual = 0;           ///< the input less what decode gives for it
};

/// What decode computes from the sections.
struct DecodeGraph {
  Graph graph;
  ValueId result = 0;
};

/// A program with its operators merged into what happens to one element. `block` is the size of its blocks; nothing
/// where it has none.
struct Lowered {
  EncodeGraph encode;
  DecodeGraph decode;
  std::optional<Constant> block;
};

/// The most elements that `hadamard` turns together where a program is put together: what a GPU's warp has at once.
inline constexpr std::uint32_t kMostTurned = 128;

/// Puts the operators of a program together. The program outlives the result's use.
/// Unimplemented: blocks of two sizes, elements picked out of their order, arrays of a fixed size, `hadamard` of more
/// than kMostTurned elements; says where.
Result<Lowered> lower(const Program& program, const Source& source);

}  // namespace casync::compll
