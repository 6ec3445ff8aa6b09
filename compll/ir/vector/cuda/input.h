// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "compll/ir/vector/cuda/plan.h"

namespace casync::compll::cuda_vector {

// The vector to encode is taken ahead of all steps: by work of its own, or by the search that reads it first, which can
// then feed reducers, too.

void plan_input(Routine& plan);

/// Lets a search in the first stage take the input, if its elements are made of the input's alone and nothing else has
/// taken it. Then the search goes ahead of all other work. Returns false if it cannot.
bool search_input(Routine& plan, SearchId search, std::uint32_t stage);

/// Returns true if the search that takes the input can feed the reducer, too: it has each element at hand once.
bool is_reduced_with_input(const Routine& plan, const Term& reduction, std::uint32_t stage);
void reduce_with_input(Routine& plan, FedReducer reducer);

}  // namespace casync::compll::cuda_vector
