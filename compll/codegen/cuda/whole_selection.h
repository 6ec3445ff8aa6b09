// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compll/codegen/cuda/whole_plan.h"
#include "compll/lang/program.h"

namespace casync::compll {

struct CudaWholeRoutine;

/// The plan of operators that find elements. A search for the largest takes three stages, one for each digit of the
/// key; then the least of them is known, and a fourth stage writes places.
class CudaSelection {
 public:
  explicit CudaSelection(CudaWholeRoutine& text) : text_(text) {}

  void plan_largest(const Term& term, CudaPlanned& planned, const std::string& name);
  void plan_kth_largest(const Term& term);
  void plan_where(const Term& term, CudaPlanned& planned, const std::string& name);

 private:
  /// A search for the largest elements: the names that its stages refer to, and the first stage after it.
  struct Search {
    std::string part, count, name, places = "nullptr";
    std::uint32_t found = 0;
  };
  Search plan_search(const Term& term, const std::string& name);
  void plan_digit(const Search& search, std::uint32_t stage, std::uint32_t digit);
  std::function<void()> together(const Search& search, std::uint32_t stage, const std::string& begin,
                                 const std::string& end);

  CudaWholeRoutine& text_;
  std::map<std::pair<std::uint32_t, std::string>, std::vector<std::string>> called_for_;  ///< by stage and call
};

}  // namespace casync::compll
