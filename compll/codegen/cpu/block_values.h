// SPDX-License-Identifier: Apache-2.0
//
// The values of a block that are computed after one of its loops and used in another. The loops over the elements of
// all blocks that are worked on together come one after the other, so between them such values are kept in memory.
#pragma once

#include <cstddef>
#include <set>
#include <utility>
#include <vector>

#include "compll/codegen/cpu/expression_text.h"
#include "compll/ir/tiles/schedule.h"

namespace casync::compll {

/// The block's values of one pass. Loop i is that of phase i; the values of phase i + 1 are computed after it, and
/// those of phase 0 ahead of it.
class BlockValues {
 public:
  BlockValues(const Graph& graph, const ExpressionText& text, const Pass& pass);

  /// The values that a loop needs and that are computed after another one.
  const std::set<ValueId>& handed_on() const { return handed_on_; }
  bool is_computed_in(ValueId id, std::size_t loop) const { return computed_in_[id] == loop; }
  bool is_used_in(ValueId id, std::size_t loop) const { return used_in_.contains({id, loop}); }

 private:
  void use(ValueId id, std::size_t loop);
  void use_arguments(ValueId id, std::size_t loop);

  const Graph& graph_;
  const ExpressionText& text_;
  std::vector<std::size_t> computed_in_;
  std::set<std::pair<ValueId, std::size_t>> used_in_;
  std::set<ValueId> handed_on_;
};

}  // namespace casync::compll
