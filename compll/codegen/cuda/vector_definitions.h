// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "compll/ir/vector/cuda/plan.h"
#include "compll/lang/program.h"

namespace casync::compll {

struct CudaVectorRoutine;

/// Spells the definitions of values: in a stage's text a value is defined where it is first referred to.
class CudaDefinitions {
 public:
  explicit CudaDefinitions(CudaVectorRoutine& text) : text_(text) {}

  /// The name of a value, which is defined here unless it is already, behind the values that it refers to.
  std::string name(cuda_vector::Id id);
  std::string name_of_variable(VariableId id);
  /// The name of an array, or of a reduction within a value.
  std::string name_of(const Term& term);

  /// Forgets all names: another text begins.
  void forget() { defined_.clear(); }
  /// Names the elements of the input at hand until they are released: then the vector has its name in memory again.
  void hold_input();
  void release_input();

  /// The names within the function that is being written.
  std::map<VariableId, std::string>& names_in_body() { return in_body_; }

 private:
  std::vector<cuda_vector::Id> needs_of(const cuda_vector::Value& value) const;
  void define(cuda_vector::Id id);
  void define(const cuda_vector::Value& value, const cuda_vector::Memory& memory);
  void define(const cuda_vector::Value& value, const cuda_vector::Element& element);
  void define(const cuda_vector::Value& value, const cuda_vector::Received& received);
  void define(const cuda_vector::Value& value, const cuda_vector::Single& single);
  void define(const cuda_vector::Value& value, const cuda_vector::Map& map);
  void define(const cuda_vector::Value& value, const cuda_vector::Range& range);
  void define(const cuda_vector::Value& value, const cuda_vector::Spread& spread);
  void define(const cuda_vector::Value& value, const cuda_vector::OuterProduct& product);
  void define(const cuda_vector::Value& value, const cuda_vector::Reduced& reduced);
  void define(const cuda_vector::Value& value, const cuda_vector::KthLargest& found);

  CudaVectorRoutine& text_;
  std::set<std::string> defined_;
  std::set<std::string> ahead_of_input_;  ///< names that are defined outside of the lines with the input at hand
  bool holds_input_ = false;
  std::map<VariableId, std::string> in_body_;
};

}  // namespace casync::compll
