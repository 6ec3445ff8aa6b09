// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "base/status.h"
#include "compll/ir/tiles/graph.h"
#include "compll/lang/syntax/diagnostic.h"

namespace casync::compll {

/// The values that encode or merge computes from the input and the states: the sections, and the kept arrays.
struct EncodeGraph {
  Graph graph;
  ValueId input = 0;
  std::vector<ValueId> sections;    ///< in the order of the payload
  std::optional<ValueId> residual;  ///< the input minus its decoded value; empty if states are kept instead
  std::vector<ValueId> states;      ///< the new value of each state
};

/// The values that decode computes from the sections.
struct DecodeGraph {
  Graph graph;
  ValueId result = 0;
};

/// The values that result computes from the decoded vector and the states.
struct ResultGraph {
  Graph graph;
  ValueId input = 0;
  ValueId result = 0;
  std::vector<ValueId> states;
};

/// A program whose operators are merged into one computation per element. `block` is the size of its blocks; empty if
/// it has none.
struct Lowered {
  EncodeGraph encode;
  std::optional<EncodeGraph> merge;  ///< encodes a sum of decoded vectors; empty if encode does it
  DecodeGraph decode;
  std::optional<ResultGraph> result;  ///< empty if the decoded vector is the gradient
  std::optional<Constant> block;
};

/// The most elements that `hadamard` may transform together in a lowered program: as many as a GPU's warp holds.
inline constexpr std::uint32_t kMostRotated = 128;

/// Merges the operators of a program. The program must outlive the result. Unimplemented, with the place: blocks of two
/// sizes, elements at computed indices, arrays of a fixed size, `hadamard` of more than kMostRotated elements, a
/// `result` that uses other elements.
Result<Lowered> lower(const Program& program, const Source& source);

/// The part of a program that `lower` refuses: "`largest`, which cannot be taken apart into tiles", and its place.
/// Empty if it lowers the program.
std::optional<Diagnostic> why_not_lowered(const Program& program, const Source& source);

}  // namespace casync::compll
