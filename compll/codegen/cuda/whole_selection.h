// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "compll/ir/vector/cuda/plan.h"

namespace casync::compll {

struct CudaWholeRoutine;

/// Spells operators that find elements.
class CudaSelection {
 public:
  explicit CudaSelection(CudaWholeRoutine& text) : text_(text) {}

  void write(const cuda_whole::ListLargest& work);
  void write(const cuda_whole::ChooseDigit& work);
  void write(const cuda_whole::CountDigit& work);
  void write(const cuda_whole::PickLargest& work);
  void write(const cuda_whole::PickWhere& work);

  /// The name of a search, which stages refer to, and its initializer.
  static std::string name_of(const cuda_whole::Search& search) { return search.name + "_search"; }
  std::string initializer(const cuda_whole::Search& search) const;

 private:
  void write_list(const cuda_whole::ListLargest& work, const std::string& input);
  std::string fed(const cuda_whole::ListLargest& work, const std::string& key);
  void call(const std::vector<cuda_whole::SearchId>& searches, const std::string& begin, const std::string& end);
  std::string many(const cuda_whole::Search& search);
  std::string share(const cuda_whole::Search& search) const;

  CudaWholeRoutine& text_;
};

}  // namespace casync::compll
