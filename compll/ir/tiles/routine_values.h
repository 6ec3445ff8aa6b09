// SPDX-License-Identifier: Apache-2.0
//
// A routine's values as its text has them: which of them stand in lines of their own, and what is known of their
// ranges.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compll/ir/tiles/idioms.h"
#include "compll/ir/tiles/ranges.h"
#include "compll/ir/tiles/value_flags.h"

namespace casync::compll {

struct RoutineValues {
  const Graph* graph = nullptr;
  std::vector<Range> ranges;
  Idioms idioms;          ///< the values that one function computes
  std::vector<int> uses;  ///< the number of operations that use each value
  ValueFlags has_line;    ///< values with a name and a definition; others are written where they are used
};

/// The values of a routine. `kept` have a line although one operation uses them: they are loaded, stored or asked.
/// `instead` moves one use of the first value of a pair to the second one.
RoutineValues routine_values(const Graph& graph, Idioms idioms, const std::vector<ValueId>& kept,
                             const std::vector<std::pair<ValueId, ValueId>>& instead = {});

/// These values without those that have no line.
std::vector<ValueId> with_lines(const std::vector<ValueId>& ids, const RoutineValues& values);

/// The program's name for a value with the value's number, `scale_27`, or `v27`.
std::string value_name(const Graph& graph, ValueId id);

}  // namespace casync::compll
