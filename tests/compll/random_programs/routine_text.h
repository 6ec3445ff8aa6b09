// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tests/compll/random_programs/declarations.h"
#include "tests/compll/random_programs/expressions.h"

namespace casync::compll::test {

/// An array of a routine. Arrays of the same extent fit together.
struct Array {
  std::string name, type, extent;
  Kind kind = Kind::kFloat;
  bool finite = false;
};

/// The text of one routine at a time, and the names that its next statement may use.
class RoutineText {
 public:
  RoutineText(Choices& choices, Expressions& expressions, const Declarations& declared)
      : choices_(choices), expressions_(expressions), declared_(declared) {}

  /// Begins a routine, which knows no name of the previous routine. `draws`: it may draw random numbers.
  void begin(bool draws);
  /// Returns the routine's text.
  std::string take() { return std::exchange(text_, ""); }

  void line(const std::string& text) { text_ += text + "\n"; }
  /// Returns a name that the program does not have yet.
  std::string fresh(const std::string& word) { return word + std::to_string(++fresh_); }
  void add_array(Array array) { arrays_.push_back(std::move(array)); }
  void add_scalar(const std::string& name, Kind kind) { scope_.scalars.push_back({name, kind}); }

  const std::vector<Array>& arrays() const { return arrays_; }
  /// Returns the scope of a function of elements, without its arguments.
  Scope inside() const;
  std::vector<Array> arrays_of(const std::string& extent) const;
  /// Returns the extent of all elements, of blocks, or of any array.
  std::string any_extent();
  /// Returns the scope of scalars outside of functions.
  Scope outside() const;
  /// Returns a function of elements of these arrays.
  std::string function(const std::vector<Array>& arrays, const TypeWord& result, int depth);

 private:
  /// Returns an expression that `return` converts.
  std::string converted(const TypeWord& result, const Scope& scope, int depth);

  Choices& choices_;
  Expressions& expressions_;
  const Declarations& declared_;
  std::string text_;
  Scope scope_;
  std::vector<Array> arrays_;
  bool draws_ = false;
  int fresh_ = 0;
};

}  // namespace casync::compll::test
