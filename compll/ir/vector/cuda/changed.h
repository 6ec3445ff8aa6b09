// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>

#include "compll/ir/vector/cuda/plan.h"

namespace casync::compll::cuda_vector {

/// The scatter that changes an array: its step, and the variable of its places. Null: no step of the routine does.
struct ArrayChange {
  VariableId array = 0, places = 0;
  const compll::Step* step = nullptr;
};

/// Returns true if all uses of the array are over when the change can begin, or read nothing but the places that are
/// changed. `kept`: variables whose arrays a `map` stores in memory.
bool can_change(const Routine& plan, const ArrayChange& change, const std::set<VariableId>& kept);

/// Returns true if no place occurs twice: an operator has made them so, here or in the routine that sent them.
bool is_distinct(const Routine& plan, const Term& places);

/// The places and values that an encoder sends, if its residual is the encoded vector elsewhere.
struct SentElements {
  const Term *places = nullptr, *values = nullptr;
};
std::optional<SentElements> sent_elements(const Routine& plan);

}  // namespace casync::compll::cuda_vector
