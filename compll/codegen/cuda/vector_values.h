// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "compll/ir/vector/cuda/values.h"
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
  /// Adds the plan's values that a value refers to, or a function of elements, in the order of their definitions.
  void add_needs(const Term& term, std::vector<cuda_vector::Id>& ids) const;
  void add_needs(const Body& body, std::vector<cuda_vector::Id>& ids) const;
  /// Writes a function's lines and the result of this number.
  void write_body(const Body& body, const std::vector<std::string>& arguments, std::size_t result);
  /// Writes the functions to reduce by: structs ahead of the stages.
  void write_functions();
  static std::string name_of_function(std::size_t number) { return "Function" + std::to_string(number); }

 private:
  void write_function(std::size_t number);
  void define(const std::vector<cuda_vector::Id>& ids);
  void add_array(const Term& array, std::vector<cuda_vector::Id>& ids) const;
  void define_in_body(VariableId id, const std::string& value);
  std::string expression(const Term& term);

  CudaVectorRoutine& text_;
};

}  // namespace casync::compll
