// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compll/ir/rounds/cpu/plan.h"

namespace casync::compll::cpu_turns {

struct Layout;

/// Arrays of a turn: in memory, or computed where they are used. A value of n elements that is used once is not stored;
/// a product of vectors is computed by pieces of a row.
class Arrays {
 public:
  explicit Arrays(Layout& layout) : layout_(layout) {}

  Array array_of(const Term& term);
  /// An array whose elements may be read in any order.
  Array settled(const Term& term);
  /// Defines an array under this name, at a place if it is made in memory and wants one.
  Array define(const Term& term, Id to, const std::optional<Place>& place);
  /// Stores the array in memory, at this place or at any.
  Array in_memory(Array array, const Type& type, const std::optional<Place>& place, const std::string& what);
  /// Stores the array at an address.
  void fill(const Array& array, const Type& type, const Address& to, const std::string& what);
  /// The array that has been made in the memory of `to`.
  Array stored(Id to);

 private:
  Array define_map(const Term& term, Id to);

  Layout& layout_;
};

/// The products to prepare ahead of the array's elements.
std::vector<Id> outers_of(const Array& array);

}  // namespace casync::compll::cpu_turns
