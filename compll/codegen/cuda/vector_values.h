// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "compll/lang/program.h"

namespace casync::compll {

struct CudaVectorRoutine;

/// Single values as expressions, and functions of elements.
class CudaValues {
 public:
  explicit CudaValues(CudaVectorRoutine& text) : text_(text) {}

  std::string scalar(const Term& term);
  /// Defines the names that a value refers to, or a function of elements: lines that cannot stand within it.
  void prepare(const Term& term);
  void prepare(const Body& body);
  /// Writes a function's lines and the result of this number.
  void write_body(const Body& body, const std::vector<std::string>& arguments, std::size_t result);
  /// Writes the functions to reduce by: structs ahead of the stages.
  void write_functions();
  static std::string name_of_function(std::size_t number) { return "Function" + std::to_string(number); }

 private:
  void write_function(std::size_t number);
  void define_in_body(VariableId id, const std::string& value);
  std::string expression(const Term& term);

  CudaVectorRoutine& text_;
};

}  // namespace casync::compll
