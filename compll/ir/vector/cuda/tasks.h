// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "compll/ir/vector/cuda/plan.h"

namespace casync::compll::cuda_vector {

/// The number of stages so far, at least one.
std::uint32_t stages_of(const Routine& plan);

/// Adds work to a stage.
void add(Routine& plan, std::uint32_t stage, Work work);
/// Adds work that reads only the tile's own elements: it may go through them in pieces. `chunks`: all warps have work
/// with so many times tile_elements.
void add_own(Routine& plan, std::uint32_t stage, Work work, std::uint32_t chunks = 1);
/// Adds work that the last tile does after the stage.
void add_at_end(Routine& plan, std::uint32_t stage, Work work);

/// Takes a part of the workspace.
SpaceId take(Routine& plan, Space space);
/// Takes memory for the elements of an array.
SpaceId take_elements(Routine& plan, const std::string& word, const Type& type, Zeros zeros = Zeros::kNone);
Address address_of(SpaceId space, ScalarType element);

/// The address at which an array is made: the one where its variable is wanted, or memory of its own.
Address address_for(Routine& plan, std::optional<VariableId> id, const std::string& word, const Type& type);
/// Returns true if the variable was made where it is wanted, and that is this address.
bool is_made_there(const Routine& plan, VariableId id, Address::Base base, std::size_t index);

/// Returns true if tiles have equal shares of an array: its size is computed.
inline bool is_shared_evenly(const Type& type) { return type.is_over(Extent::Kind::kSized); }

}  // namespace casync::compll::cuda_vector
