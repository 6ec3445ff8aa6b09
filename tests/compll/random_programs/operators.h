// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tests/compll/random_programs/routine_text.h"

namespace casync::compll::test {

/// Writes statements that apply an operator to arrays of a routine, and makes arrays that are missing.
class Operators {
 public:
  Operators(Choices& choices, Expressions& expressions, const Declarations& declared, RoutineText& text)
      : choices_(choices), expressions_(expressions), declared_(declared), text_(text) {}

  /// Returns an array of this extent; writes one if there is none.
  Array array_of(const std::string& extent);
  /// Returns an array of this extent whose elements are floats and never NaN.
  Array finite_array(const std::string& extent);
  /// Writes a `map` over one to three arrays of this extent. `called` names the result.
  Array map(const std::string& extent, const TypeWord& type, const std::string& called = "");
  /// Writes a `map` with two results.
  void write_several();
  void write_reduction();
  Array block_reduction(const std::string& block);
  void write_spread();
  void write_hadamard();
  /// Writes `largest` or `where`. `called` names the result.
  Array places(const std::string& size, const std::string& called = "");
  void write_kth_largest();
  void write_filter_or_sort();
  /// Writes `where` or `filter` without a count. The extent of what it gives is its own size.
  void write_selection();
  void write_gather();
  /// Returns an expression with the floats of all elements: `scatter` or `scatter_add`.
  std::string scattered();
  void write_scatter();
  /// Writes one of the operators that are one call.
  void write_call();

 private:
  /// Returns an array of this extent whose elements are numbers.
  Array numbers_of(const std::string& extent);
  /// Returns a name such as `sum`, or a function of two elements with its `initial` value.
  std::string reducer(const Array& from, std::string& initial, TypeWord& gives);
  Array any_places();
  static bool is_selection(const Array& array) { return array.extent.ends_with(".size") && array.extent != "g.size"; }

  Choices& choices_;
  Expressions& expressions_;
  const Declarations& declared_;
  RoutineText& text_;
};

}  // namespace casync::compll::test
