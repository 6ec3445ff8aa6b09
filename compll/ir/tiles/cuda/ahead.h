// SPDX-License-Identifier: Apache-2.0
//
// Values that a thread writes for its four neighbours ahead of the loop over them: transforms, which the threads of a
// warp compute together, and values made of the elements' places, so that they are computed once.
#pragma once

#include "compll/ir/tiles/cuda/plan.h"

namespace casync::compll {

/// Finds values that several operations make of the element's place alone, and that are used with others: signs of a
/// rotation.
/// Programs without transforms have none that are written ahead.
void find_of_places(CudaEncoder& plan);

/// A graph, and the values that are written ahead in it, apart from its transforms.
struct CudaAheadOf {
  const Graph& graph;
  const CudaTileValues& values;
  const std::set<ValueId> of_places;

  /// Returns true if the value is written for all four neighbours ahead of a loop that needs it.
  bool is_ahead(ValueId id) const;
  /// The elements that these are made of, down to those that are written ahead.
  ValueFlags up_to_ahead(const std::vector<ValueId>& targets) const;
  /// The values that are written ahead for these, in order.
  std::vector<ValueId> ahead_of(const std::vector<ValueId>& targets) const;
  /// Returns the plan of the loop that writes a value ahead.
  CudaAhead plan_of(ValueId id) const;
};

}  // namespace casync::compll
