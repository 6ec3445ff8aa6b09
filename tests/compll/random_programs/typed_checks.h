// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <set>
#include <string>
#include <utility>

#include "tests/compll/random_programs/routine_text.h"

namespace casync::compll::test {

/// Parameters of types that no other parameter of a random program has.
inline constexpr const char* kTypedParameters =
    "param {\n  double wide = 0.25 in -4..4;\n  uint5 narrow = 3 in 0..31;\n  int9 below = -7 in -256..255;\n}\n";

/// Writes arrays of one type, and an operator or a function on them: each type with each operator that takes it. All
/// elements that are made go into one number with their places, such that none of them can differ unseen. The choices
/// are its own, so the other statements of a program do not depend on it.
class TypedChecks {
 public:
  TypedChecks(Choices& choices, const Declarations& declared, RoutineText& text, bool for_rounds)
      : choices_(choices), declared_(declared), text_(text), for_rounds_(for_rounds) {}

  /// Begins a routine.
  void begin();
  /// Writes one check.
  void write();
  /// Returns the routine's number so far, a uint.
  const std::string& number() const { return number_; }
  /// Returns the name of an array with a finite float for each of the gradient's elements.
  const std::string& floats() const { return floats_; }
  /// Returns the functions of the program that checks call.
  std::string helpers() const;

 private:
  /// A reducer as it follows an array, and the type that it gives.
  using Reducer = std::pair<std::string, TypeWord>;

  void write_operations();
  void write_functions();
  void write_reduction();
  void write_block_reduction();
  void write_parameters();
  void write_sort();
  void write_scatter();
  void write_picks();
  void write_selection();
  void write_search();
  void write_sized();
  void write_random();

  /// Writes an array of the type with an element for each of the gradient's; returns its name.
  std::string elements();
  /// Writes places, none of them twice.
  std::string places();
  /// Writes a variable with this value; returns its name.
  std::string named(const std::string& type, const std::string& value);
  Reducer reducer();
  void note_array(const std::string& value, const TypeWord& type);
  void note_value(const std::string& value, const TypeWord& type);

  bool is_bool() const { return type_.kind == Kind::kBool; }
  bool is_real() const { return type_.kind == Kind::kFloat || type_.kind == Kind::kDouble; }
  /// Returns true if tiles have all reducers of the type.
  bool is_word() const { return type_.text == "float" || type_.text == "int" || type_.text == "uint"; }

  Choices& choices_;
  const Declarations& declared_;
  RoutineText& text_;
  const bool for_rounds_;
  TypeWord type_;
  std::string floats_, number_;
  std::set<std::string> called_;  ///< types whose functions are called
};

}  // namespace casync::compll::test
