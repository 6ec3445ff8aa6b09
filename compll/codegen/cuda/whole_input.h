// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "compll/lang/program.h"

namespace casync::compll {

struct CudaWholeRoutine;

/// The plan of taking the input: ahead of all steps, by itself or by the search that reads the input first, which then
/// feeds reducers, too.
class CudaInput {
 public:
  explicit CudaInput(CudaWholeRoutine& text) : text_(text) {}

  /// An array of the same elements that a reducer takes in that step.
  struct WithInput {
    const Term* of;
    std::string reducer, name, slot;
  };

  void plan_input(const std::string& kind, const std::string& arguments);
  /// Returns true until a step takes the input while it reads it.
  bool is_open() const { return !input_.empty(); }
  void take_input_with(const std::function<void(const std::string&)>& write, std::function<void()> finish);
  /// Returns true if an element is made of the input's element of the same place, and of no other array in memory.
  bool is_made_of_input(const Term& term) const;
  /// Returns true if the search that takes the input can feed the reducer, too: it has each element at hand once.
  bool is_reduced_with_input(const Term& term, std::uint32_t stage) const;
  void reduce_too(const WithInput& reduction) { with_input_.push_back(reduction); }
  std::string begin_reductions_with_input(const std::string& key);
  void end_reductions_with_input();

 private:
  CudaWholeRoutine& text_;
  std::string input_, input_arguments_;
  bool is_searched_ = false;  ///< true if the step that takes it searches for the largest elements
  std::vector<WithInput> with_input_;
};

}  // namespace casync::compll
