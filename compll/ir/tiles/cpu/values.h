// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "compll/ir/tiles/cpu/plan.h"

namespace casync::compll {

/// Finds the idioms of encode, chooses the values that have lines, and marks those that are always needed.
void name_values(CpuEncoder& plan);

/// The value that is stored: for a single bit of an element the condition that it comes from.
ValueId written_as(const CpuEncoder& plan, const Output& output);

/// The values of elements among these that a loop defines. The input is defined ahead of all others, and a condition as
/// a number only where the number is used.
std::vector<ValueId> defined_in_loop(const CpuEncoder& plan, const std::vector<ValueId>& elements);

/// Finds the tensor's values that passes and the end need, whatever pass has computed them.
void plan_tensor_values(CpuEncoder& plan);

/// The tensor's values that a pass needs ahead of its loops.
ValueFlags needed_of_tensor(const Graph& graph, const Pass& pass);

/// The flagged values of the tensor that have lines.
std::vector<ValueId> tensor_lines(const RoutineValues& values, const ValueFlags& needed);

}  // namespace casync::compll
