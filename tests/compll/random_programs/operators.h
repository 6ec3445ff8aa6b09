// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "tests/compll/random_programs/routine_text.h"

namespace casync::compll::test {

/// Writes statements that apply an operator to arrays of a routine, and makes arrays that are missing. The name of an
/// array that is returned may be an expression, as `map(g, ...)`, unless its line is written.
class Operators {
 public:
  Operators(Choices& choices, Expressions& expressions, const Declarations& declared, RoutineText& text)
      : choices_(choices), expressions_(expressions), declared_(declared), text_(text) {}

  /// Returns an array of this extent, or an expression of one; writes one if there is none.
  Array array_of(const std::string& extent);
  /// Returns an array of this extent whose elements are floats and never NaN.
  Array finite_array(const std::string& extent);
  /// Returns an array of this extent that has a name, and whose elements are floats and never NaN.
  Array named_finite_array(const std::string& extent);
  /// Writes a `map` over one to three arrays of this extent. `called` names the result.
  Array map(const std::string& extent, const TypeWord& type, const std::string& called = "");
  /// Writes a `map` with two results.
  void write_several();
  void write_reduction();
  /// Writes a reduction by a function of its own.
  void write_fold();
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
  /// Writes an array, elements that are picked from it, and a scatter that changes it at the same places. Returns the
  /// changed array.
  Array change_of(const std::string& extent);
  void write_change() { change_of(unselected_extent()); }
  /// Writes another name of an array.
  Array another_name(const Array& array);
  void write_another_name();
  /// Writes one of the operators that are one call.
  void write_call();

 private:
  /// The words that follow an array in `reduce`, and the type of its result.
  struct Reducer {
    std::string text;
    TypeWord gives;
    bool is_finite = false;  ///< never NaN, if the elements are not
  };

  /// Returns an array of this extent that has a name.
  Array named_array(const std::string& extent);
  /// Returns an expression of an array.
  Array unnamed_array(const std::string& extent);
  Array map_of(const std::string& extent, const TypeWord& type);
  Array block_values(const std::string& block);
  /// Gives an expression a name, which begins with `word`.
  Array named(Array array, const std::string& word);
  /// Returns an array of this extent whose elements are numbers.
  Array numbers_of(const std::string& extent);
  /// Returns a name such as `sum`, or a function of two elements after its initial value.
  Reducer reducer(const Array& from);
  Reducer own_reducer(const Array& from);
  void reduce(const Array& from, Reducer by);
  Array places_of(const Array& from, const std::string& size, const std::string& called);
  Array any_places();
  /// Returns an extent that is not a selection's.
  std::string unselected_extent();
  static bool is_selection(const std::string& extent) { return extent.ends_with(".size") && extent != "g.size"; }

  Choices& choices_;
  Expressions& expressions_;
  const Declarations& declared_;
  RoutineText& text_;
};

}  // namespace casync::compll::test
