// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "compll/lang/program.h"

namespace casync::compll {

struct CudaWholeRoutine;

/// The names of a routine's sizes in generated text, and how often each variable is used.
class CudaNames {
 public:
  explicit CudaNames(CudaWholeRoutine& text, std::size_t variables) : text_(text), uses_(variables, 0) {}

  void count_uses(const Term& term, std::size_t times = 1);
  /// Goes from the last step to the first: a variable without uses uses nothing.
  void count_uses(const std::vector<const Step*>& steps);
  void count_use(VariableId id) { ++uses_[id]; }
  std::size_t uses(VariableId id) const { return uses_[id]; }

  /// The variable that this one is another name of.
  VariableId made_as(VariableId id) const;
  std::string fresh(const std::string& word) { return word + "_t" + std::to_string(fresh_++); }
  static std::string parameter(ParameterId id) { return "settings.parameters[" + std::to_string(id) + "]"; }
  static std::string block_size(const Constant& constant);
  static std::string size(const Type& type);
  /// The declaration of n, which in a program that exchanges has rows and columns, too.
  static std::string declared_n(const Program& program);
  static bool is_of_blocks(const Type& type) { return type.is_over(Extent::Kind::kBlocks); }
  /// The share of an array that a tile has: equal shares if the array's size is computed.
  static std::string part_of(const Type& type);

 private:
  void count_uses(const Body& body);

  CudaWholeRoutine& text_;
  std::vector<std::size_t> uses_;
  std::size_t fresh_ = 0;
};

/// The steps of a routine, in order.
std::vector<const Step*> steps_in(const std::vector<Step>& steps);

}  // namespace casync::compll
