// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>

#include "compll/lang/program.h"

namespace casync::compll {

struct RoundsRoutine;

/// The text of an array.
struct RoundsArray {
  std::string name;
  std::string memory;                   ///< its place in memory, or ""
  std::string place;                    ///< the place where it is wanted, if it is there
  std::set<std::string> outers;         ///< products that have to be prepared when its elements are read
  std::map<std::string, double> reads;  ///< bytes of memory for each of n elements
  std::string fills;                    ///< memory that its first use has to fill, by the function `name`
};

/// Arrays of a turn. A name is called with an index: memory, or a function that computes the element where it is used.
/// A value of n elements that is used once is not stored; a product of vectors is computed by pieces of a row.
class RoundsArrays {
 public:
  explicit RoundsArrays(RoundsRoutine& text) : text_(text) {}

  RoundsArray array_of(const Term& term);
  /// An array whose elements may be read in any order.
  RoundsArray settled(const Term& term);
  /// The array of a variable that has one.
  RoundsArray& of(VariableId id) { return arrays_.at(id); }
  void set(VariableId id, RoundsArray array) { arrays_[id] = std::move(array); }

  /// Defines an array under this name, at a place if it is made in memory and wants one.
  RoundsArray define(const Term& term, const std::string& to, const std::string& place);
  /// Stores the array in memory, at this place or at any.
  RoundsArray in_memory(RoundsArray array, const Type& type, const std::string& place, const std::string& what);
  /// Writes the array to a place.
  void fill(const RoundsArray& array, const Type& type, const std::string& place, const std::string& what);

 private:
  RoundsArray define_map(const Term& term, const std::string& to);
  RoundsArray define_spread(const Term& term, const std::string& to);
  RoundsArray define_range(const Term& term, const std::string& to);
  RoundsArray define_block_reduction(const Term& term, const std::string& to, const std::string& place);
  RoundsArray define_orthonormal(const Term& term, const std::string& to, const std::string& place);
  RoundsArray define_matmul(const Term& term, const std::string& to, const std::string& place);
  void take_memory(const Type& type, const std::string& to, const std::string& place);
  RoundsArray stored(const Type& type, const std::string& to);
  void prepare(const RoundsArray& array);
  std::string piece(const RoundsArray& array);

  RoundsRoutine& text_;
  std::map<VariableId, RoundsArray> arrays_;
};

}  // namespace casync::compll
