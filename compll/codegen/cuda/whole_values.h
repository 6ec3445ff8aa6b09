// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "compll/lang/program.h"

namespace casync::compll {

struct CudaWholeRoutine;

/// Single values as expressions, and functions of elements.
class CudaValues {
 public:
  explicit CudaValues(CudaWholeRoutine& text) : text_(text) {}

  std::string scalar(const Term& term);
  /// Defines the names that a value refers to: lines that cannot stand within it.
  void prepare(const Term& term);
  /// Writes a function's lines and the result of this number.
  void write_body(const Body& body, const std::vector<std::string>& arguments, std::size_t result);
  /// Names a function to reduce by: a struct ahead of the stages, which sees nothing but its arguments.
  std::string function(const Term& term);
  /// Writes those structs.
  void write_functions();

 private:
  void write_function(const Term& term);
  void define_in_body(VariableId id, const std::string& value);
  std::string expression(const Term& term);

  CudaWholeRoutine& text_;
  std::map<const Term*, std::string> functions_;
  std::vector<const Term*> written_;  ///< terms that have a function, in the order of its number
};

}  // namespace casync::compll
