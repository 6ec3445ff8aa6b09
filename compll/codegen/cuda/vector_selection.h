// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "compll/ir/vector/cuda/plan.h"

namespace casync::compll {

struct CudaVectorRoutine;

/// Spells operators that find elements.
class CudaSelection {
 public:
  explicit CudaSelection(CudaVectorRoutine& text) : text_(text) {}

  void write(const cuda_vector::ListLargest& work);
  void write(const cuda_vector::ChooseDigit& work);
  void write(const cuda_vector::CountDigit& work);
  void write(const cuda_vector::PickLargest& work);
  void write(const cuda_vector::PickWhere& work);

  /// The name of a search, which stages refer to, and its initializer.
  static std::string name_of(const cuda_vector::Search& search) { return search.name + "_search"; }
  std::string initializer(const cuda_vector::Search& search) const;

 private:
  void write_list(const cuda_vector::ListLargest& work, const std::string& input);
  std::string fed(const cuda_vector::ListLargest& work, const std::string& key);
  void call(const std::vector<cuda_vector::SearchId>& searches, const std::string& begin, const std::string& end);
  std::string many(const cuda_vector::Search& search);
  std::string share(const cuda_vector::Search& search) const;

  CudaVectorRoutine& text_;
};

}  // namespace casync::compll
