// SPDX-License-Identifier: Apache-2.0
//
// Values, and the first stages in which they can be read.
//
// Tiles do not wait for each other within a stage. In the stage that stores an array a tile can read the elements that
// it has stored itself: its share of the array. Ready::own is this stage, and Ready::all the next one, in which the
// elements of all tiles are there. Shares are of three kinds, so work of the own stage has to have the kind with which
// the array was stored:
//
//   equal shares       of an array of a computed size (kSized)
//   by places          of other arrays: the elements at the places that the tile has in the gradient
//   by blocks          of an array with an element for each block: those of the tile's own blocks
//
// Elements for blocks are stored and read by blocks where `spread` or `block_reduce` needs them, and by places where an
// operator goes through their array as through any other. The latter is ready_to_share() and ready_by_shares().
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "compll/ir/vector/cuda/plan.h"

namespace casync::compll::cuda_vector {

/// Adds a value.
Id add_value(Routine& plan, Value value);
/// Adds an array in memory that a stage makes: `own` and `all` say from which stage on it can be read.
Id add_memory(Routine& plan, const std::string& name, const Type& type, const Address& at, Ready ready);

/// The name of a variable's value: `place_7`.
std::string value_name(const Program& program, VariableId id);

/// The value of an array, or of a reduction within a value. It has been planned.
Id value_of(const Routine& plan, const Term& term);
/// Empty if the variable has none: it is a function's own.
std::optional<Id> find_value(const Routine& plan, VariableId id);
/// Lets all that is planned later refer to another value.
void rebind(Routine& plan, const Term& array, Id value);

/// The first stages in which a value can be read.
Ready ready(const Routine& plan, const Term& term);
Ready ready(const Routine& plan, VariableId id);
/// The stage in which tiles can share an array's elements. One with an element for each block is its own tile's first.
std::uint32_t ready_to_share(const Routine& plan, const Term& term);
/// The first stages in which an array can be read that tiles store in this one, each its share. An array with an
/// element for each block is shared otherwise than blocks are.
Ready ready_by_shares(const Type& type, std::uint32_t stage);
std::uint32_t ready_of_scalar(const Routine& plan, const Term& term);
std::uint32_t ready_of_function(const Routine& plan, const Body& body);

/// Throws CannotPlan if CUDA has no text for a single value, or for a function of elements.
void check(const Term& term);
void check(const Body& body);
[[noreturn]] void refuse(Span at, const std::string& what);

}  // namespace casync::compll::cuda_vector
